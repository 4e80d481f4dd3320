/** The choices as a prompt lists them: `(A) first`, `(B) second`, one per line. */
export function renderChoices(choices: readonly string[]): string {
  return choices.map((choice, index) => `(${choiceLetter(index)}) ${choice}`).join('\n');
}

/** The letter of a choice: index 0 is A. */
export function choiceLetter(index: number): string {
  return String.fromCodePoint(65 + index);
}
