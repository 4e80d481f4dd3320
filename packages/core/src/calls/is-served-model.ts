/** A request for a model and the model that its response names. */
export interface ServedModel {
  /** The name that was sent. */
  readonly requested: string;
  /** The name in the response; null if it had none. */
  readonly served: string | null;
  /** The base URL of the endpoint that answered. */
  readonly endpoint: string;
}

/**
 * Whether an answer comes from the requested model, as far as names can tell.
 *
 * A vendor serves an alias as a dated or numbered version of itself, a router adds or drops the owner's prefix and its
 * own suffixes, and a local server names a file. What the vendors document is cited beside the vectors of the test.
 * A deployment on Azure bears a name that its user chose, so nothing can be compared there. An answer that names no
 * model is taken as it is.
 */
export function isServedModel({ requested, served, endpoint }: ServedModel): boolean {
  if (served === null || served === '' || served === requested) return true;
  if (namesDeployments(endpoint)) return true;
  const [asked, got] = [parseName(requested), parseName(served)];
  if (asked.stem === got.stem) return true;
  if (isVersionOf(got.stem, asked.stem) || isVersionOf(asked.stem, got.stem)) return true;
  if (haveSameWords(asked.stem, got.stem)) return true;
  return asked.isLatest && isReleaseOf(got.stem, asked.stem);
}

interface ModelName {
  readonly stem: string;
  /** The name is an alias that moves to each new release. */
  readonly isLatest: boolean;
}

/** A longer name, such as the path of a file, is compared by its end. */
const NAME_CHARS = 300;
/** A router's choice of provider, or a tag that stands for none; no part of the model. */
const ROUTING_SUFFIX = /:(?:free|nitro|floor|exacto|online|beta|latest)$/;
/** A model file: its encoding, the number of its part, its ending. */
const MODEL_FILE = /(?:[-.](?:i?q\d[a-z0-9_]*|b?f16|f32|mxfp4))?(?:-\d{5}-of-\d{5})?\.gguf$/;

function parseName(name: string): ModelName {
  const path = name.slice(-NAME_CHARS).toLowerCase();
  const bare = (path.split(/[/\\]/).at(-1) ?? '')
    .replace(ROUTING_SUFFIX, '')
    .replace(MODEL_FILE, '');
  const stem = bare.replace(/[-_]latest$/, '');
  return { stem, isLatest: stem !== bare };
}

/**
 * Versions are dates or build numbers: `gpt-5-2026-01-01` is a `gpt-5`; `gpt-5-mini`, `sonnet-4-5` for
 * `sonnet-4` and `llama-3-70b` for `llama-3` are models of their own.
 */
function isVersionOf(name: string, stem: string): boolean {
  // The first release of a generation is its alias: `claude-opus-4-0`.
  const unnumbered = stem.replace(/-0$/, '');
  return [stem, unnumbered].some(
    (base) =>
      name.startsWith(base) && /^[-@:_](?:v\d|\d{3,}(?![a-z\d]))/.test(name.slice(base.length)),
  );
}

/** A version in a word of its own, and what marks a release that is not final. */
const RELEASE_WORD = /^(?:v?\d+(?:\.\d+)?|preview|exp|experimental)$/;
/** A date or build number of one word or three. */
const DATE = /-(?:\d{6,8}|\d{4}-\d{2}-\d{2})$/;

/** Whether two names differ in nothing but the place of their version and a date: `claude-4.5-sonnet-20250929`. */
function haveSameWords(left: string, right: string): boolean {
  const dates = [left, right].map((name) => DATE.exec(name)?.[0]);
  const [first, second] = [left, right].map((name) => inWordOrder(name.replace(DATE, '')));
  return first === second && (dates.includes(undefined) || dates[0] === dates[1]);
}

/** The words of a name by alphabet, then its numbers in their own order: 4.5 is not 5.4. */
function inWordOrder(name: string): string {
  const words = name.split(/[-.]/);
  const isNumber = (word: string) => /^\d+$/.test(word);
  return [...words.filter((word) => !isNumber(word)).toSorted(), ...words.filter(isNumber)].join(
    '-',
  );
}

/** Whether a name is that of an alias with the words of a release added: `gemini-2.5-flash` of `gemini-flash`. */
function isReleaseOf(name: string, alias: string): boolean {
  const left = alias.split('-');
  for (const word of name.split('-')) {
    if (word === left[0]) left.shift();
    else if (!RELEASE_WORD.test(word)) return false;
  }
  return left.length === 0;
}

const AZURE_DOMAINS = ['openai', 'cognitiveservices', 'services.ai'].flatMap((service) =>
  ['azure.com', 'azure.us', 'azure.cn'].map((cloud) => `.${service}.${cloud}`),
);

/** Whether requests to an endpoint name deployments instead of models. */
function namesDeployments(endpoint: string): boolean {
  const host = /^https?:\/\/([^/:?#]+)/i.exec(endpoint)?.[1]?.toLowerCase() ?? '';
  return AZURE_DOMAINS.some((domain) => host.endsWith(domain));
}
