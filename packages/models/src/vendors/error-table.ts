import type { ErrorCode } from '@thrice/core';
import { nextMidnight } from './wall-clock.ts';

/**
 * One kind of error that vendors send, and what it means.
 *
 * The conditions that a row gives must all hold; the first row of {@link ERROR_TABLE} whose do decides.
 */
export interface ErrorRow {
  readonly code: ErrorCode;
  /** Whose breaker it opens, where the code alone does not say: the whole lane's, or only that of the model. */
  readonly breakerScope?: 'lane' | 'model';
  /**
   * The statuses it comes with; for an error inside a successful response, the one that its body names, or
   * {@link NO_STATUS}.
   */
  readonly status?: readonly number[];
  /** At least one code, type, reason or quota name of the body, in lower case, matches. */
  readonly word?: RegExp;
  /** The text of the body matches. */
  readonly text?: RegExp;
  /** The body itself says how long to wait. */
  readonly hasStatedWait?: true;
  /** It is a web page, of a proxy rather than of the API; without this, rows read pages like other bodies. */
  readonly isPage?: true;
  /** When the quota resets, ms since 1970, where the vendor documents it and the response does not say it. */
  readonly resetAtMs?: (nowMs: number) => number;
}

/** Stands for the status of an error that comes without any. */
export const NO_STATUS = 0;

/** Gemini's requests per day: https://ai.google.dev/gemini-api/docs/rate-limits (2026-11). */
const midnightPacific = (nowMs: number) => nextMidnight('America/Los_Angeles', nowMs);
/** Workers AI's free allocation: https://developers.cloudflare.com/workers-ai/platform/pricing/ (2026-11). */
const midnightUtc = (nowMs: number) => nextMidnight('UTC', nowMs);

/**
 * What is wrong with this one request comes first: vendors send it with the statuses of rate limits (413, 429), of
 * keys (403) and of their own failures (500, 503).
 */
const REQUEST_ROWS: readonly ErrorRow[] = [
  {
    // OpenAI and Groq: the request alone is larger than what the account may use in a minute.
    code: 'context-too-long',
    text: /\brequest too large for\b|\brequest body too large\b|\b(?:usage (?:is|credits are)|extra usage is) required for long context/i,
  },
  {
    code: 'context-too-long',
    word: /^(?:context_length_exceeded|string_above_max_length|request_too_large|exceed_context_size_error|tokens_limit_reached|model_context_window_exceeded|contextwindowexceedederror)$/,
  },
  {
    code: 'context-too-long',
    text: /\b(?:maximum (?:context|prompt) length|maximum model length|(?:maximum allowed input|model's context) length|context[ _]length[ _]exceeded|exceeds? (?:the )?(?:model's )?(?:available )?context (?:length|window|size|limit)|context window exceeds|context size has been exceeded|configured context size|context window of \d|exceeds? n_ctx(?:_per_seq)?|greater than the context length|max(?:imum)? context length)\b/i,
  },
  {
    code: 'context-too-long',
    text: /\bprompt (?:is )?too long\b|\binput (?:is|token length) too long\b|\binput token count\b.{0,40}\bexceeds\b|\bexceeded model token limit\b|\breduce the length of the (?:messages|prompt|input)\b|\b`?inputs`? tokens \+ `?max_new_tokens|\b`?inputs`? must have less than \d|\btoo many tokens: total\b|\btokens in request more than max\b|\brange of input length should be\b|\bprompt token count of \d+ exceeds\b|\binput tokens exceed the configured limit\b|\btoken count\b.{0,40}\bmodel only supports\b/i,
  },
  {
    code: 'context-too-long',
    status: [NO_STATUS, 400, 413, 422],
    text: /\bcontext (?:length|window|size)\b|\btoo many tokens\b/i,
  },
  {
    code: 'content-filtered',
    word: /^(?:content_filter(?:ed)?|content_policy_violation|contentpolicyviolationerror|responsibleaipolicyviolation|moderation_blocked|data_inspection_failed|(?:input|output)?(?:text|image)?sensitivecontentdetected|prohibited_content|cyber_policy|input_moderation|content_moderation)$/,
  },
  {
    // xAI 403, OpenRouter 403, Moonshot 400, Anthropic 400, DeepSeek 400, OpenAI 400, Cohere 498, Zhipu 400.
    code: 'content-filtered',
    text: /\bviolates usage guidelines\b|\bsafety_check_type|\brequires moderation\b|\byour input was flagged\b|\bconsidered high risk\b|\bblocked by content filtering\b|\bcontent exists risk\b|\brejected (?:as a result of|by) (?:our|the) safety system\b|\bviolating our usage policy\b|\bcontent management policy\b|\bunsafe or sensitive content\b|\binappropriate content\b|\bblocked by (?:a )?guardrail|\bunsafe request\b|\bnew_sensitive\b|\bprohibited_content\b|\b(?:input|prompt|output|response|content) (?:was |were )?(?:blocked|flagged) (?:by|due to|for)\b.{0,40}\b(?:moderation|safety|policy|guardrail)/i,
  },
];

/** A limit per minute may call itself a quota, and a day's quota a rate limit. The stated wait tells them apart. */
const LIMIT_ROWS: readonly ErrorRow[] = [
  {
    // OpenRouter holds back what calls in flight may cost: no credit is missing.
    code: 'model-rate-limited',
    word: /^openrouter_in_flight_budget$/,
  },
  {
    // Alibaba calls its throttling a quota, too; only the page that it refers to says which it is.
    code: 'model-rate-limited',
    text: /\berror-code#(?:token|rate)-limit\b/,
  },
  {
    // Gemini names every quota that is used up. Its RetryInfo is short even for a day's.
    code: 'quota-exhausted',
    breakerScope: 'model',
    word: /perday.*permodel|permodel.*perday/,
    resetAtMs: midnightPacific,
  },
  { code: 'quota-exhausted', word: /perday/, resetAtMs: midnightPacific },
  { code: 'model-rate-limited', word: /perminute/ },
  { code: 'model-rate-limited', word: /^resource_exhausted$/, hasStatedWait: true },
  {
    // GitHub Models and OpenRouter's free models: the quota of a day is of one model.
    code: 'model-rate-limited',
    breakerScope: 'model',
    text: /\bfor UserByModelByDay\b|\bfree-models-per-day\b/i,
    hasStatedWait: true,
  },
  { code: 'quota-exhausted', breakerScope: 'model', text: /\bfree-models-per-day\b/i },
  {
    // Cloudflare Workers AI.
    code: 'quota-exhausted',
    text: /\bdaily free allocation\b/i,
    resetAtMs: midnightUtc,
  },
  {
    code: 'model-rate-limited',
    status: [NO_STATUS, 403, 429],
    text: /\b(?:per day|per month|[TR]PD)\b|\bAPI calls \/ month\b/i,
    hasStatedWait: true,
  },
  {
    // Bedrock, Groq, Moonshot, Cerebras, Cohere's trial keys.
    code: 'quota-exhausted',
    status: [NO_STATUS, 403, 429],
    text: /\btokens per day\b|\brequests per day\b|\b[TR]PD\b|\bper day limit\b|\bAPI calls \/ month\b|\bdaily (?:request|token|usage|quota)\b/i,
  },
  {
    // Cerebras calls its limits per minute quotas, Alibaba its throttling.
    code: 'model-rate-limited',
    text: /\b(?:requests|tokens) per (?:minute|min|second|hour)\b|\ballocated quota exceeded\b|\bAPI calls \/ minute\b|\bper-min(?:ute)?\b/i,
    status: [NO_STATUS, 413, 429, 503],
  },
];

/** No credit, or a usage limit: nothing works until somebody pays or the limit resets. Whatever the status. */
const QUOTA_ROWS: readonly ErrorRow[] = [
  {
    // LiteLLM's budget of one model, Volcengine's limit of one.
    code: 'quota-exhausted',
    breakerScope: 'model',
    text: /\bexceeded budget for model\b|\breached the set inference limit\b/i,
  },
  {
    code: 'quota-exhausted',
    word: /^(?:insufficient_quota|insufficientquota|quota_exceeded|exceeded_current_quota_error|billing_hard_limit_reached|billing_not_active|billing_error|insufficient_balance|insufficient_credits|credits_exhausted|credit_balance_exhausted|credit_limit|budget_exceeded|enforced_spend_limit_reached|project_spend_limit_exceeded|usage_limit_reached|usage_limit_exceeded|usage_not_included|arrearage|allocationquota\.freetieronly|token_quota_reached|accountoverdueerror|not_enough_balance|openrouter_credits|openrouter_key_limit|payment_required)$/,
  },
  {
    code: 'quota-exhausted',
    status: [NO_STATUS, 400, 401, 402, 403, 412, 422, 429],
    text: /\bexceeded your current quota\b|\bexceeded current quota\b|\bcredit balance\b|\binsufficient (?:quota|balance|credits?|funds)\b|\ball available credits\b|\bmonthly spending limit\b|\b(?:API )?usage limits?\b.{0,200}\bregain access\b|\breached your (?:specified )?(?:workspace )?(?:API )?usage limits?\b|\breached your .{0,20}usage limit\b|\bhit your usage limit\b|\brun out of credits\b|\bno credits remaining\b|\bcredit limit exceeded\b|\bmonthly included credits\b|\bcredits? (?:have |has |are |is )?(?:expired|exhausted|depleted)\b|\brequires more credits\b|\bcan only afford\b|\bbudget has been exceeded\b|\bexceededbudget\b|\bover budget\b|\bkey limit exceeded\b|\bspend(?:ing)? limit\b|\bbilling (?:hard )?limit\b|\baccount is not active, please check your billing\b|\bpurchase more credits\b|\bdoesn't have any credits\b|\bnot enough (?:balance|credits?)\b|\bbalance is (?:insufficient|not enough|too low)\b|\boverdue balance\b|\binactive subscription\b|\busage limit reached\b|\bmonthly (?:token )?quota\b|\bout of (?:call volume|bandwidth) quota\b|余额不足|欠费/i,
  },
  {
    // Together and Fireworks close an account that has not paid.
    code: 'quota-exhausted',
    text: /\baccount\b.{0,120}\b(?:is|has been) suspended\b|\baccount is in good standing\b|\bneeds a credit card on file\b/i,
    status: [NO_STATUS, 400, 402, 403, 412, 429],
  },
  { code: 'quota-exhausted', status: [402] },
];

/** Keys, permissions and names of models, for the statuses that say no more than that the request was refused. */
const ACCESS_ROWS: readonly ErrorRow[] = [
  {
    // NVIDIA: the hosted model is down for now. It comes as 400.
    code: 'model-unavailable',
    text: /\bDEGRADED function cannot be invoked\b/,
  },
  {
    code: 'unknown-model',
    word: /^(?:model_not_found|model_not_available|model_not_supported|model_decommissioned|invalid_model|unknown_model|unavailable_model|deploymentnotfound|operationnotsupported|model_not_exist|modelnotfound|key_model_access_denied|team_model_access_denied)$/,
  },
  {
    // `no_db_connection`: a LiteLLM proxy without a database knows no key but its own.
    code: 'auth-failed',
    word: /^(?:invalid_api_key|wrong_api_key|api_key_invalid|incorrect_api_key|invalid_authentication_error|authentication_error|unauthorized|unauthenticated|unauthenticated:.*|unsupported_country_region_territory|account_deactivated|key_blocked|expired_key|no_db_connection|api_key_service_blocked)$/,
  },
  {
    code: 'auth-failed',
    status: [NO_STATUS, 400, 401, 403, 422],
    text: /\b(?:incorrect|invalid|wrong) (?:api[ -_]?)?key\b|\bAPI key (?:is )?(?:not valid|not found|invalid|expired)\b|\bpass a valid API key\b|\binvalid (?:api )?token\b|\bapi key: .{0,40}is invalid\b|\bauthentication (?:error|fails)\b|\bsecurity token included in the request is (?:invalid|expired)\b|\buser location is not supported\b|\bnot available in your (?:country|region)\b|\blogin fail\b|\b(?:organization|account) has been (?:disabled|deactivated|restricted)\b|\bno auth credentials\b/i,
  },
  {
    // OpenRouter: the model is there, but not with what this request asks of it.
    code: 'invalid-request',
    status: [NO_STATUS, 404],
    text: /\bno endpoints found that support\b/i,
  },
  {
    // Anthropic's whole message for an unknown model is `model: NAME`.
    code: 'unknown-model',
    status: [NO_STATUS, 400, 401, 403, 404, 410, 422, 500],
    text: /^model: \S{1,120}$|\bmodel\b.{0,160}\b(?:does not exist|not exist\b|doesn't exist|not found|was not found|is not found|has been (?:decommissioned|deprecated|removed|retired)|is not available|not supported by any provider)|\bnot found the model\b|\b(?:invalid|unknown|unsupported) model\b|\bnot a valid model\b|\bno endpoints (?:found|available)\b|\bmodel identifier is invalid\b|\bmodel not (?:found|exist)|\bnot allowed to use publisher model\b|\bdon't have access to the model\b|\bunable to access model\b|\bno access to model\b|\baccess to model denied\b|\bnot allowed to (?:sample from|access|use) (?:this|the) model\b|\bno such model\b|\bmust be verified to (?:use|stream)\b|\bprior to using this model\b|\ball providers have been ignored\b|模型不存在|\bis not found for API version\b|\bsupported API model names are\b|\bon-demand throughput\b|\bAPI deployment for this resource does not exist\b|\bInvalid model name passed\b|\bFunction '[^']{1,80}': Not found for account\b/i,
  },
  {
    // LM Studio answers any path with 200.
    code: 'endpoint-unreachable',
    text: /\bunexpected endpoint or method\b/i,
  },
];

/** What the servers themselves could not do, for now. */
const BUSY_ROWS: readonly ErrorRow[] = [
  {
    code: 'model-unavailable',
    status: [200, 400, 403, 404, 424, 498],
    word: /^(?:capacity_exceeded|overloaded_error|overloaded|server_overloaded|unavailable_error|service_unavailable|insufficient_system_resource)$/,
  },
  {
    // Groq's 498, and what gateways put into a 400.
    code: 'model-unavailable',
    status: [400, 403, 498],
    text: /\bcapacity exceeded\b|\bcurrently (?:overloaded|loading)\b|\bserver is overloaded\b|\btemporarily unavailable\b|\bmodel (?:has )?(?:crashed|unloaded)\b/i,
  },
  // llama.cpp: the server was started without what the request needs.
  { code: 'invalid-request', status: [501], word: /^not_supported_error$/ },
];

/**
 * What a single word tells about the statuses that mean the most different things. A wording that nobody has seen
 * yet should rather reject a cell or block a model than block a lane for a bad key.
 */
const TELLING_ROWS: readonly ErrorRow[] = [
  {
    code: 'content-filtered',
    status: [400, 403, 422],
    text: /\b(?:content|safety|moderation) (?:policy|filter|policies|guidelines|check|violation|moderation)\b|\bflagged\b|\bsensitive (?:content|information|words?)\b|\bharmful\b/i,
  },
  { code: 'model-rate-limited', status: [429], hasStatedWait: true },
  {
    code: 'quota-exhausted',
    status: [403, 429],
    text: /\b(?:balance|credits?|billing|payments?|overdue|prepaid|recharge|top[ -]up|subscriptions?)\b/i,
  },
  { code: 'quota-exhausted', status: [403], text: /\bquota\b/i },
  {
    code: 'unknown-model',
    status: [400, 403, 422],
    text: /\bmodel\b.{0,60}\bis not (?:supported|enabled|allowed|accessible|permitted)\b/i,
  },
  { code: 'unknown-model', status: [403], text: /\bmodel\b/i },
];

/** By status alone. */
const STATUS_ROWS: readonly ErrorRow[] = [
  { code: 'auth-failed', status: [401, 407] },
  // A firewall's page may be about what the prompt contains, or about the number of calls. No API sends it.
  { code: 'model-unavailable', status: [403], isPage: true },
  { code: 'auth-failed', status: [403] },
  { code: 'model-rate-limited', status: [429] },
  { code: 'endpoint-unreachable', status: [404], isPage: true },
  { code: 'unknown-model', status: [404], text: /\bmodels?\b/i },
  { code: 'endpoint-unreachable', status: [404, 405] },
  // A model that was withdrawn, or is not served in this way.
  { code: 'unknown-model', status: [410] },
  { code: 'context-too-long', status: [413] },
  { code: 'model-timeout', status: [408, 504, 522, 524] },
  { code: 'model-unavailable', status: [409, 423, 424, 425, 498, 499] },
  { code: 'model-unavailable', status: range(500, 599) },
  { code: 'invalid-request', status: range(400, 499) },
];

/** By words alone, for an error that comes without any status. */
const WORD_ROWS: readonly ErrorRow[] = [
  {
    code: 'model-rate-limited',
    word: /^(?:rate_limit_exceeded|rate_limit_error|rate_limited|rate_limit|ratelimitreached|rate_limit_reached_error|too_many_requests(?:_error)?|throttlingexception|resource_exhausted|resource-exhausted|tokens|requests|throttling_error|throttling\..*|queue_exceeded|engine_overloaded_error)$/,
  },
  { code: 'auth-failed', word: /^(?:permission_error|permission_denied|permission-denied)$/ },
  {
    code: 'model-unavailable',
    word: /^(?:overloaded_error|server_error|api_error|internal_error|internal|internalservererror|internal_server_error|unavailable|service_unavailable|serviceunavailable|generation|incomplete_generation|error|server_is_overloaded)$/,
  },
  { code: 'model-timeout', word: /^(?:timeout|timeout_error|deadline_exceeded)$/ },
  { code: 'unknown-model', word: /^(?:not_found_error|notfounderror|not_found)$/ },
  {
    code: 'invalid-request',
    word: /^(?:invalid_request_error|invalid_argument|badrequesterror|bad_request|validation|validation_error)$/,
  },
  {
    code: 'model-rate-limited',
    text: /\brate[ -]limit(?:ed| reached| exceeded)\b|\btoo many requests\b/i,
  },
  { code: 'invalid-request', text: /\binvalid params?\b/i },
  {
    code: 'model-unavailable',
    text: /\boverloaded\b|\bserver (?:had an )?error\b|\binternal error\b|\bupstream\b/i,
  },
];

/**
 * What vendors' errors mean, in the order in which the rows are tried: the request itself, limits and quotas by
 * what they say, keys and models, what the server could not do, telling words, and only then the status alone.
 */
export const ERROR_TABLE: readonly ErrorRow[] = [
  ...REQUEST_ROWS,
  ...LIMIT_ROWS,
  ...QUOTA_ROWS,
  ...ACCESS_ROWS,
  ...BUSY_ROWS,
  ...TELLING_ROWS,
  ...STATUS_ROWS,
  ...WORD_ROWS,
];

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
