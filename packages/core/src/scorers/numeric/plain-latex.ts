/** LaTeX commands that print nothing: fonts, sizes, spacing. */
const SILENT_COMMANDS =
  'text textbf textit textrm textnormal texttt textsf mathrm mathbf mathit mathsf mathtt bf rm it mbox hbox ' +
  'boldsymbol operatorname displaystyle textstyle left right big Big bigg Bigg bigl bigr therefore qty num';
/** What other LaTeX commands print; those that are not listed stay. */
const PRINTED_COMMANDS: readonly (readonly [names: string, replacement: string])[] = [
  ['quad qquad space thinspace enspace nobreakspace', ' '],
  ['cdot', '·'],
  ['times', '×'],
  ['ast', '*'],
  ['div', '÷'],
  ['pm', '±'],
  ['approx simeq sim cong', '≈'],
  ['dots ldots cdots', '...'],
  ['le leq leqslant', '≤'],
  ['lt', '<'],
  ['ge geq geqslant', '≥'],
  ['gt', '>'],
  ['ne neq', '≠'],
  ['pi', 'π'],
  ['sqrt', '√'],
  ['infty', '∞'],
  ['circ degree', '°'],
  ['percent', '%'],
  ['pounds', '£'],
  ['euro', '€'],
  ['to rightarrow Rightarrow implies', '→'],
  ['lbrace', '['],
  ['rbrace', ']'],
  ['fbox framebox', String.raw`\boxed`],
  ['dfrac tfrac cfrac', String.raw`\frac`],
];
const COMMANDS = new Map(
  [[SILENT_COMMANDS, ''] as const, ...PRINTED_COMMANDS].flatMap(([names, replacement]) =>
    names.split(' ').map((name) => [name, replacement] as const),
  ),
);
const SYMBOLS = new Map([
  ['!', ''],
  [',', ' '],
  [':', ' '],
  [';', ' '],
  ['\\', '\n'],
  ['[', ' '],
  [']', ' '],
  ['(', ' '],
  [')', ' '],
  ['{', '['],
  ['}', ']'],
]);
const FRACTION = /(\d ?)?\\frac ?(?:\{([^{}]{1,400})\}|(\d)) ?(?:\{([^{}]{1,400})\}|(\d))/g;

/** Rewrites LaTeX commands as the characters that they print; `\boxed` and unknown ones stay. */
export function plainLatex(text: string): string {
  if (!text.includes('\\')) return text.replace(/ ?\{ ?, ?\}/g, ',');
  return (
    text
      // A backslash that was escaped once more, as in JSON.
      .replace(/\\\\(?=(?:boxed|[dtc]?frac|text|times|cdot|left|approx|%|\$)(?![a-z]))/g, '\\')
      .replace(/(?<=\d)\\\\(?=[,!;: ]\d)/g, '\\')
      .replace(/\\(?:([a-zA-Z]+)|([^a-zA-Z]))/g, plainCommand)
      .replace(/ ?\{ ?, ?\}/g, ',')
      .replace(/\^ ?\{? ?°/g, '°')
      .replace(/([√^_]) ?\{([^{}]{1,400})\}/g, '$1($2)')
      .replace(FRACTION, plainFraction)
      .replace(FRACTION, plainFraction)
  );
}

function plainCommand(command: string, name?: string, symbol?: string): string {
  if (name !== undefined) return COMMANDS.get(name) ?? command;
  return SYMBOLS.get(symbol ?? '') ?? symbol ?? command;
}

function plainFraction(_: string, whole = '', ...parts: readonly (string | undefined)[]): string {
  const numerator = (parts[0] ?? parts[1] ?? '').trim();
  const denominator = (parts[2] ?? parts[3] ?? '').trim();
  const isPlain = [numerator, denominator].every((part) => /^[-+]?\d[\d.,]*$/.test(part));
  // A digit before it makes a mixed number.
  const separated = whole === '' || whole.endsWith(' ') ? whole : `${whole} `;
  return isPlain
    ? `${separated}${numerator}/${denominator}`
    : `${separated}(${numerator})/(${denominator})`;
}
