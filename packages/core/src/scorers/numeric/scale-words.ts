/** Words that multiply the number before them, by power of ten. None that could also be a unit. */
const WORDS: readonly (readonly [exponent: number, pattern: string])[] = [
  [12, String.raw`trillions?\b|billones\b|Billionen\b|триллион\p{L}*|兆`],
  [9, String.raw`billions?\b|bn\b|mil millones\b|milliards?\b|Milliarden?\b|miliardi?\b`],
  [9, String.raw`bilh(?:ão|ões)|миллиард\p{L}*|млрд|十亿`],
  [8, '亿|億|억'],
  [7, String.raw`crores?\b`],
  [6, String.raw`millions?\b|mln\b|Million(?:en)?\b|mill(?:ón|ones)|milh(?:ão|ões)|milion[ei]\b`],
  [6, String.raw`миллион\p{L}*|млн|百万`],
  [5, String.raw`(?:lakh|lac)s?\b`],
  [4, '万|萬|만'],
  [3, String.raw`thousands?\b|tausend\b|тысяч\p{L}*|тыс|千|천`],
  [2, String.raw`hundreds?\b`],
];
const PATTERNS = WORDS.map(([exponent, pattern]) => ({
  exponent,
  pattern: new RegExp(`[ ]?(?:${pattern})`, 'iuy'),
}));
const FIRST_WORD = /[ ]?[a-z\u0400-\u04ff\u3000-\u9fff\uac00-\ud7ff]/iy;

/** Abbreviations: a small k means nothing else; the others are clear beside a currency. */
const ABBREVIATION = /[kKmMbBtT](?:n|ln)?(?![\p{L}\d])/uy;
const ABBREVIATION_EXPONENTS: Readonly<Record<string, number>> = { k: 3, m: 6, b: 9, t: 12 };

/** A word after a number. */
export interface Scale {
  readonly exponent: number;
  /** Where it ends. */
  readonly end: number;
}

/** Reads the word that multiplies a number: "3.5 million", "5k", "$2M", "3万". */
export function readScale(text: string, at: number, hasCurrency: boolean): Scale | undefined {
  const abbreviation = readAbbreviation(text, at, hasCurrency);
  if (abbreviation !== undefined) return abbreviation;
  FIRST_WORD.lastIndex = at;
  if (!FIRST_WORD.test(text)) return undefined;
  for (const { exponent, pattern } of PATTERNS) {
    pattern.lastIndex = at;
    if (pattern.test(text)) return { exponent, end: pattern.lastIndex };
  }
  return undefined;
}

function readAbbreviation(text: string, at: number, hasCurrency: boolean): Scale | undefined {
  ABBREVIATION.lastIndex = at;
  const abbreviation = ABBREVIATION.exec(text)?.[0];
  if (abbreviation === undefined || (abbreviation !== 'k' && !hasCurrency)) return undefined;
  const exponent = ABBREVIATION_EXPONENTS[abbreviation.charAt(0).toLowerCase()];
  return exponent === undefined ? undefined : { exponent, end: at + abbreviation.length };
}
