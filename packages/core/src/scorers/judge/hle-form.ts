import { stripReasoning } from '../strip-reasoning.ts';
import type { JudgeForm } from './judge-form.ts';
import { UNTRUSTED } from './judge-prompt.ts';
import { readVerdict } from './read-verdict.ts';

const PROMPT = `Grade a response to a question by the reference answer, which is right. ${UNTRUSTED}

{{asked}}

{{answer}}

{{target}}

Do not solve the question yourself. The response is correct if its final answer says the same as the reference answer, in whatever words or notation, within a small rounding error for numbers. It is incorrect if it gives no final answer, several that differ, or one that says anything else.

Reply with these four lines and nothing else:
extracted_answer: the final answer of the response, or None
reasoning: in one sentence, where it agrees or disagrees with the reference answer
correct: yes or no
confidence: the confidence that the response states, from 0 to 100, or None`;

/**
 * The form of Humanity's Last Exam: the answer found, the reasoning, yes or no, the confidence.
 *
 * @see https://github.com/centerforaisafety/hle (hle_eval/run_judge_results.py)
 */
export const hleForm: JudgeForm = {
  prompt: PROMPT,
  readResponse: (text) => text,
  gradeUnasked: () => undefined,
  readReply: (reply) => readVerdict(stripReasoning(reply)),
};
