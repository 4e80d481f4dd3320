/** What an arm costs in Echo's units: 1 is a call of Haiku with a persona. */
export interface Arm {
  /** Calls of a task whose first answer is accepted; one more where it is escalated to Sonnet. */
  readonly acceptedCalls: number;
  readonly canEscalate: boolean;
  /** Units of a task whose first answer is accepted, as Echo first published them; null where it did not. */
  readonly flatUnits: number | null;
  /** The same by list prices. */
  readonly pricedUnits: number;
  /** In which units Echo charges a task whose calls threw as if its first answer was accepted. */
  readonly chargesFailures: 'both' | 'flat' | 'none';
}

/** A call of Sonnet, in units. */
export const SONNET_UNITS = 3;

/**
 * List prices of Echo's priced units, USD per million tokens in and out. They are Echo's, and stay as they are.
 *
 * @see https://github.com/enspyrco/echo (`experiment`, commit cf7580c)
 */
const JUDGE_PRICES = {
  haiku: [1, 5],
  'gpt-5.5': [5, 30],
  'gpt-5.4': [2.5, 15],
  'gpt-5.4-mini': [0.75, 4.5],
  'gpt-5.4-nano': [0.2, 1.25],
  'gemini-2.5-pro': [1.25, 10],
  'gemini-2.5-flash': [0.3, 2.5],
  'gemini-2.5-flash-lite': [0.15, 1.25],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

/** Tokens in and out that Echo assumes of a call with a persona, and of a call that judges. */
const PERSONA_TOKENS = [600, 250] as const;
const JUDGE_TOKENS = [1200, 3] as const;

const PAIR: Arm = {
  acceptedCalls: 2,
  canEscalate: true,
  flatUnits: 2,
  pricedUnits: 2,
  chargesFailures: 'flat',
};

/** Returns the arm of a name; undefined for what is none of Echo's. */
export function armOf(name: string): Arm | undefined {
  const judge = judgeOf(name);
  if (judge !== undefined) {
    const pricedUnits = 2 + judgeUnits(judge);
    const flatUnits = judge === 'haiku' ? 3 : null;
    return { ...PAIR, acceptedCalls: 3, flatUnits, pricedUnits, chargesFailures: 'both' };
  }
  switch (name) {
    case 'haiku-only':
      return single(1);
    case 'sonnet-only':
      return single(SONNET_UNITS);
    case 'echo-lexical':
    case 'echo-ast':
    case 'echo-small-judge':
    case 'echo-oracle':
      return PAIR;
    default:
      return undefined;
  }
}

function single(units: number): Arm {
  return {
    acceptedCalls: 1,
    canEscalate: false,
    flatUnits: units,
    pricedUnits: units,
    chargesFailures: 'none',
  };
}

/**
 * The judge that an arm names, or the first of its vendor where it names none of that; undefined for an arm without one
 * that costs something.
 *
 * @see https://github.com/enspyrco/echo/blob/5dac0275983ffb1d3b76dd1bd739a3a6f9ba3f11/experiment/cost_units.py
 *   (`_judge_model_key`)
 */
function judgeOf(name: string): keyof typeof JUDGE_PRICES | undefined {
  if (name === 'echo-judge') return 'haiku';
  const { vendor, model = '' } =
    /^echo-judge-(?<vendor>openai|gemini)(?:-(?<model>.+))?$/.exec(name)?.groups ?? {};
  if (vendor === undefined) return undefined;
  const isOpenai = vendor === 'openai';
  const named = isOpenai ? model : `gemini-2.5-${model}`;
  const known = (Object.keys(JUDGE_PRICES) as (keyof typeof JUDGE_PRICES)[]).find(
    (judge) => judge === named && judge.startsWith(isOpenai ? 'gpt-' : 'gemini-'),
  );
  return known ?? (isOpenai ? 'gpt-5.5' : 'gemini-2.5-flash');
}

/** A call that judges, in units. */
export function judgeUnits(judge: keyof typeof JUDGE_PRICES): number {
  return cost(JUDGE_PRICES[judge], JUDGE_TOKENS) / cost(JUDGE_PRICES.haiku, PERSONA_TOKENS);
}

function cost(
  [priceIn, priceOut]: readonly [number, number],
  [tokensIn, tokensOut]: readonly [number, number],
): number {
  return priceIn * tokensIn + priceOut * tokensOut;
}
