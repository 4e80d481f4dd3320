import { type ErrorRow, NO_STATUS } from './error-row.ts';

/** With these, what a text says about money is about the account; with others, it is about the server. */
const REFUSALS = [NO_STATUS, 400, 401, 402, 403, 412, 422, 429];

/** No credit, or a usage limit: nothing works until somebody pays or the limit resets. Whatever the status. */
export const QUOTA_ROWS: readonly ErrorRow[] = [
  {
    // LiteLLM's budget of one model, without a source; Volcengine's limit of one.
    code: 'quota-exhausted',
    breakerScope: 'model',
    status: REFUSALS,
    texts: [/\bexceeded budget for model\b/i, /\breached the set inference limit\b/i],
  },
  {
    // Alibaba: the free quota of one model.
    code: 'quota-exhausted',
    breakerScope: 'model',
    words: ['allocationquota.freetieronly'],
  },
  {
    code: 'quota-exhausted',
    words: [
      // OpenAI.
      'insufficient_quota',
      'credit_balance_exhausted',
      'project_spend_limit_exceeded',
      'usage_limit_reached',
      // Anthropic.
      'billing_error',
      'enforced_spend_limit_reached',
      // Moonshot.
      'exceeded_current_quota_error',
      // Together.
      'credit_limit',
      // LiteLLM.
      'budget_exceeded',
      // Alibaba.
      'arrearage',
      // Novita.
      'not_enough_balance',
      // OpenRouter.
      'openrouter_credits',
      // MiniMax.
      'status_code:1008',
      // AIHubMix.
      'insufficient_user_quota',
      // Groq.
      'organization_restricted',
      // OpenCode.
      'creditserror',
      // Higgsfield.
      'grace_daily_limit_reached',
      // Without a source.
      'openrouter_key_limit',
      'insufficientquota',
      'billing_hard_limit_reached',
      'billing_not_active',
      'insufficient_balance',
      'insufficient_credits',
      'credits_exhausted',
      'usage_limit_exceeded',
      'usage_not_included',
      'token_quota_reached',
      'accountoverdueerror',
      'payment_required',
    ],
  },
  {
    // Copilot. With a server's status, it may be any quota inside the server.
    code: 'quota-exhausted',
    status: REFUSALS,
    words: ['quota_exceeded'],
  },
  {
    // MiniMax, Zhipu, and gateways that pass on a refusal as a failure: nothing else in the text comes first.
    code: 'quota-exhausted',
    status: [500, 502, 503],
    texts: [
      /^(?:upstream error: )?insufficient (?:quota|balance|credits?)\b/im,
      /^.{0,9}余额不足/m,
    ],
  },
  {
    // The quota of a plan.
    code: 'quota-exhausted',
    status: REFUSALS,
    texts: [
      // OpenAI, Gemini.
      /\bexceeded your current quota\b/i,
      // Moonshot.
      /\bexceeded current quota\b/i,
      // Without a source.
      /\bmonthly (?:token )?quota\b/i,
      /\bout of (?:call volume|bandwidth) quota\b/i,
    ],
  },
  {
    // Credit, and the balance of an account.
    code: 'quota-exhausted',
    status: REFUSALS,
    texts: [
      // OpenAI, Anthropic.
      /\bcredit balance\b/i,
      /\bbalance is (?:insufficient|not enough|too low)\b/i,
      // DeepSeek, Moonshot, OpenRouter, LiteLLM, MiniMax.
      /\binsufficient (?:quota|balance|credits?|funds)\b/i,
      // xAI.
      /\ball available credits\b/i,
      /\brun out of credits\b/i,
      /\bpurchase more credits\b/i,
      // Gemini.
      /\bcredits? (?:have |has |are |is )?(?:expired|exhausted|depleted)\b/i,
      // OpenRouter.
      /\brequires more credits\b/i,
      /\bcan only afford\b/i,
      // Hugging Face.
      /\bmonthly included credits\b/i,
      // Together.
      /\bcredit limit exceeded\b/i,
      // Novita.
      /\bnot enough (?:balance|credits?)\b/i,
      // Zhipu: "insufficient balance".
      /余额不足/i,
      // Without a source.
      /\bno credits remaining\b/i,
      /\bdoesn't have any credits\b/i,
      /\boverdue balance\b/i,
      // "In arrears", without a source.
      /欠费/i,
    ],
  },
  {
    // A limit on spending or use, and a budget.
    code: 'quota-exhausted',
    status: REFUSALS,
    texts: [
      // Anthropic.
      /\busage limits?\b.{0,200}\bregain access\b/i,
      /\breached your (?:specified )?(?:workspace )?(?:API )?usage limits?\b/i,
      // Moonshot.
      /\breached your .{0,20}usage limit\b/i,
      // OpenAI.
      /\bhit your usage limit\b/i,
      // xAI, Fireworks.
      /\b(?:reached|exceeded|hit)\b[^(]{0,60}\bspend(?:ing)? limit\b/i,
      /\bspend(?:ing)? limit (?:has been |was )?(?:reached|exceeded|hit)\b/i,
      // LiteLLM.
      /\bbudget has been exceeded\b/i,
      // Without a source.
      /\bexceededbudget\b/i,
      /\bover budget\b/i,
      /\bkey limit exceeded\b/i,
      /\bbilling (?:hard )?limit\b/i,
      /\busage limit reached\b/i,
      // Higgsfield.
      /\bgrace_daily_limit_reached\b/i,
    ],
  },
  {
    // A subscription that has ended; without a source.
    code: 'quota-exhausted',
    status: REFUSALS,
    texts: [/\baccount is not active, please check your billing\b/i, /\binactive subscription\b/i],
  },
  {
    // An account that is closed until it pays.
    code: 'quota-exhausted',
    status: [NO_STATUS, 400, 402, 403, 412, 429],
    texts: [
      // Moonshot, Fireworks.
      /\baccount\b.{0,120}\b(?:is|has been) suspended\b/i,
      // Alibaba.
      /\baccount is in good standing\b/i,
      // Together.
      /\bneeds a credit card on file\b/i,
      // OpenCode.
      /\bno payment method\b/i,
    ],
  },
  { code: 'quota-exhausted', status: [402] },
];
