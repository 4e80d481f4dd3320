/** How BBH asks: for the answer only, or for a chain of thought first. */
export type Arm = 'direct' | 'cot';

/** What ends a chain-of-thought prompt. */
export const chainOfThoughtTail = "Let's think step by step.";

const questionMarker = '\n\nQ: ';
const answerMarker = '\nA:';

/**
 * Finds the question in a prompt by BBH's few-shot layout.
 *
 * The question stands between the last `"\n\nQ: "` and the last `"\nA:"`; without the first marker
 * the whole trimmed text is the question.
 */
export function readQuestionText(prompt: string): { readonly question: string; readonly arm: Arm } {
  const arm = prompt.trimEnd().endsWith(chainOfThoughtTail) ? 'cot' : 'direct';
  const markerAt = prompt.lastIndexOf(questionMarker);
  if (markerAt < 0) return { question: prompt.trim(), arm };
  const start = markerAt + questionMarker.length;
  const end = prompt.lastIndexOf(answerMarker);
  return { question: end < start ? prompt.slice(start) : prompt.slice(start, end), arm };
}
