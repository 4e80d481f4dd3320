/** The digits 0 of the scripts that models write numbers in. */
const ZEROS = [
  0x0660, 0x06f0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50,
  0x0ed0, 0xff10,
];
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
const VULGAR_FRACTIONS: Readonly<Record<string, string>> = {
  '½': '1/2',
  '⅓': '1/3',
  '⅔': '2/3',
  '¼': '1/4',
  '¾': '3/4',
  '⅕': '1/5',
  '⅖': '2/5',
  '⅗': '3/5',
  '⅘': '4/5',
  '⅙': '1/6',
  '⅚': '5/6',
  '⅐': '1/7',
  '⅛': '1/8',
  '⅜': '3/8',
  '⅝': '5/8',
  '⅞': '7/8',
  '⅑': '1/9',
  '⅒': '1/10',
};
const CHARACTERS: readonly (readonly [characters: string, replacement: string])[] = [
  [
    '\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000',
    ' ',
  ],
  ['\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u061c\u2061\u2062\u2063\u2064', ''],
  ['\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069', ''],
  ['\u2212\u2010\u2011\ufe63\uff0d', '-'],
  ['\u2012', '–'],
  ['\u2019\u2018\u02bc\u0027\uff07', "'"],
  ['\u066c', "'"],
  ['\u066b\uff0e', '.'],
  ['\uff0c', ','],
  ['\u060c\u3001', ', '],
  ['\u3002\u0964\u06d4', '. '],
  ['\u061b\uff1b', '; '],
  ['\uff1a', ':'],
  ['\uff1d', '='],
  ['\uff0b', '+'],
  ['\uff05\u066a', '%'],
  ['\uff0f\u2044\u2215', '/'],
  ['\uff08', '('],
  ['\uff09', ')'],
  ['\uff04', '$'],
  ['\u2243\u2245\u2248\u223c', '≈'],
  ['\uff5e\u301c', '~'],
  ['\u2a7d', '≤'],
  ['\u2a7e', '≥'],
];
const REPLACED_CHARACTERS = new Map(
  CHARACTERS.flatMap(([characters, replacement]) =>
    [...characters].map((character) => [character, replacement] as const),
  ),
);

/** Rewrites digits, signs and spaces of all scripts as those of ASCII, where there are any. */
export function plainCharacters(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text;
  return text
    .replace(/[⁺⁻]?[⁰¹²³⁴-⁹]{1,20}/g, plainSuperscript)
    .replace(
      /[¼-¾⅐-⅞]/g,
      (fraction, index: number) =>
        // A digit before it makes a mixed number.
        `${/\d/.test(text.charAt(index - 1)) ? ' ' : ''}${VULGAR_FRACTIONS[fraction] ?? fraction}`,
    )
    .replace(/[^\0-\x7f\p{L}]/gu, plainCharacter);
}

function plainSuperscript(exponent: string): string {
  const digits = exponent.replace(/[⁰¹²³⁴-⁹]/g, (digit) => String(SUPERSCRIPTS.indexOf(digit)));
  return `^${digits.replace('⁺', '+').replace('⁻', '-')}`;
}

function plainCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const zero = ZEROS.find((each) => code >= each && code < each + 10);
  if (zero !== undefined) return String(code - zero);
  return REPLACED_CHARACTERS.get(character) ?? character;
}
