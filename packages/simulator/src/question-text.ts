/** BBH's two prompt styles: ask for the answer only, or for a chain of thought first. */
export type PromptArm = 'direct' | 'cot';

/** The last sentence of a chain-of-thought prompt. */
export const chainOfThoughtTail = "Let's think step by step.";

const questionMarker = '\n\nQ: ';
const answerMarker = '\nA:';

/**
 * Finds the question in a prompt with BBH's few-shot layout.
 *
 * The question is the text between the last `"\n\nQ: "` and the last `"\nA:"`. Without the first marker
 * it is the whole text, trimmed.
 */
export function readQuestionText(prompt: string): {
  readonly question: string;
  readonly arm: PromptArm;
} {
  const arm = prompt.trimEnd().endsWith(chainOfThoughtTail) ? 'cot' : 'direct';
  const markerAt = prompt.lastIndexOf(questionMarker);
  if (markerAt < 0) return { question: prompt.trim(), arm };
  const start = markerAt + questionMarker.length;
  const end = prompt.lastIndexOf(answerMarker);
  return { question: end < start ? prompt.slice(start) : prompt.slice(start, end), arm };
}
