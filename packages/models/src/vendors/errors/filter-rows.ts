import type { ErrorRow } from './error-row.ts';

/** A filter refused the prompt or the answer. */
export const FILTER_ROWS: readonly ErrorRow[] = [
  {
    code: 'content-filtered',
    words: [
      // OpenAI.
      'moderation_blocked',
      'cyber_policy',
      // Azure, Moonshot, Xiaomi MiMo, Gemini's compatible API.
      'content_filter',
      'responsibleaipolicyviolation',
      // OpenRouter.
      'content_policy_violation',
      // Alibaba.
      'data_inspection_failed',
      // ByteDance.
      /^(?:input|output)?(?:text|image)?sensitivecontentdetected$/,
      // Without a source.
      'content_filtered',
      'contentpolicyviolationerror',
      'prohibited_content',
      'input_moderation',
      'content_moderation',
    ],
  },
  {
    code: 'content-filtered',
    texts: [
      // OpenAI, 400.
      /\brejected (?:as a result of|by) (?:our|the) safety system\b/i,
      /\bviolating our usage policy\b/i,
      // Azure, 400.
      /\bcontent management policy\b/i,
      // Anthropic, 400.
      /\bblocked by content filtering\b/i,
      // xAI, 403.
      /\bviolates usage guidelines\b/i,
      /\bsafety_check_type/i,
      // OpenRouter, 403.
      /\brequires moderation\b/i,
      /\byour input was flagged\b/i,
      // Moonshot, 400.
      /\bconsidered high risk\b/i,
      // DeepSeek, 400.
      /\bcontent exists risk\b/i,
      // Cohere, 498.
      /\bunsafe request\b/i,
      // Zhipu, 400.
      /\bunsafe or sensitive content\b/i,
      // Alibaba, 400.
      /\binappropriate content\b/i,
      // Without a source.
      /\bblocked by (?:a )?guardrail/i,
      /\bnew_sensitive\b/i,
      /\bprohibited_content\b/i,
    ],
  },
  {
    // What was refused, by what.
    code: 'content-filtered',
    texts: [
      /\b(?:input|prompt|output|response|content) (?:was |were )?(?:blocked|flagged) (?:by|due to|for)\b.{0,40}\b(?:moderation|safety|policy|guardrail)/i,
    ],
  },
];
