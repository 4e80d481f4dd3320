import * as z from 'zod';
import { exportLayouts, type RowQuestion, rowDataset } from './row-dataset.ts';

const rowSchema = z.object({
  id: z.string().min(1),
  question: z.string().min(1),
  image: z.string().nullish(),
  answer: z.string().min(1),
  answer_type: z.string(),
  category: z.string().nullish(),
  raw_subject: z.string().nullish(),
  canary: z.string().nullish(),
});

function toQuestion(row: z.infer<typeof rowSchema>): RowQuestion {
  const { id, question, image, answer, answer_type, category, raw_subject, canary } = row;
  return {
    id: `hle/${id}`,
    question,
    target: [answer],
    ...(image && { attachments: [image] }),
    tags: { answer_type, ...(category && { category }), ...(raw_subject && { raw_subject }) },
    metadata: { ...(canary && { canary }) },
  };
}

/**
 * Humanity's Last Exam: 2,500 questions (split `test`), about one in seven with an image, answered with a text or, where
 * the tag `answer_type` is `multipleChoice`, with the letter of a choice in the question. Ids are `hle/<id>`; the canary of the
 * dataset stays with each question in `metadata.canary`.
 *
 * The system message is the authors'. They grade with a model as judge; the default scorer compares texts, so that it counts
 * too few of the answers in words.
 *
 * @see Phan et al. (2025), arXiv:2501.14249
 * @see https://github.com/centerforaisafety/hle (`hle_eval/run_model_predictions.py`)
 * @see https://huggingface.co/datasets/cais/hle (`data/test-00000-of-00001.parquet`; gated)
 */
export const hle = rowDataset({
  name: 'hle',
  repository: 'cais/hle',
  subset: 'default',
  split: 'test',
  layouts: exportLayouts({ schema: rowSchema, toQuestion }),
  defaults: {
    system: `Your response should be in the following format:
Explanation: {your explanation for your answer choice}
Answer: {your chosen answer}
Confidence: {your confidence score between 0% and 100% for your answer}`,
    parser: 'hle',
    scorer: {
      kind: 'regex',
      // A letter before a period or parenthesis is a choice with its text; anything else is the whole answer.
      pattern: String.raw`(?:^|\n)[ *_#]*(?:Exact )?Answer[ *_]*:[ *_]*(?:\(?(?<answer>[A-Z])[.)](?![^\s])[^\n]*|(?<answer>[^\n]*[^\s*]))`,
      match: 'last',
    },
  },
});
