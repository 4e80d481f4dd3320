import type { ErrorRow } from './error-row.ts';
import { RATE_LIMIT_WORDS } from './word-rows.ts';

/**
 * What a single word tells about the statuses that mean the most different things. A wording that nobody has seen
 * yet should rather reject a cell or block a model than block a lane for a bad key.
 */
export const TELLING_ROWS: readonly ErrorRow[] = [
  {
    code: 'content-filtered',
    status: [400, 403, 422],
    texts: [
      /\b(?:content|safety|moderation) (?:policy|policies|guidelines|filter)\b/i,
      /\b(?:content|safety|moderation) (?:check|violation|moderation)\b/i,
      /\bflagged\b/i,
      /\bsensitive (?:content|information|words?)\b/i,
      /\bharmful\b/i,
    ],
  },
  { code: 'model-rate-limited', status: [429], hasStatedWait: true },
  // Vendors advertise what more money buys beside limits that end by themselves.
  { code: 'model-rate-limited', status: [429], words: RATE_LIMIT_WORDS },
  {
    code: 'quota-exhausted',
    status: [403, 429],
    texts: [
      /\bbalance\b/i,
      /\bcredits?\b/i,
      /\bbilling\b/i,
      /\bpayments?\b/i,
      /\boverdue\b/i,
      /\bprepaid\b/i,
      /\brecharge\b/i,
      /\btop[ -]up\b/i,
      /\bsubscriptions?\b/i,
    ],
  },
  { code: 'quota-exhausted', status: [403], texts: [/\bquota\b/i] },
  {
    code: 'unknown-model',
    status: [400, 403, 422],
    texts: [/\bmodel\b.{0,60}\bis not (?:supported|enabled|allowed|accessible|permitted)\b/i],
  },
  { code: 'unknown-model', status: [403], texts: [/\bmodel\b/i] },
];
