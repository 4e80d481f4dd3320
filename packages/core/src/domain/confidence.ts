import * as z from 'zod';

/** How a model is asked for a confidence beside its answer: by a schema of the output, or by tags in a text. */
export type ConfidenceForm = 'structured' | 'tagged';

/**
 * How the confidence of a recorded answer is read: `asked` as Thrice asks for it, the others as the prompts do that ask
 * for it themselves.
 */
export type AnswerParser = 'asked' | 'hle' | 'sparkit';

/** Why the confidence of an answer is unknown, although the model was asked for it. */
export const confidenceReasonSchema = z.enum([
  'no-confidence',
  'not-a-number',
  'out-of-range',
  'unreadable',
]);
/** Why the confidence of an answer is unknown; see {@link confidenceReasonSchema}. */
export type ConfidenceReason = z.infer<typeof confidenceReasonSchema>;

/** A confidence, 0..1, or why it is unknown. */
export type StatedConfidence =
  | { readonly confidence: number; readonly confidenceReason?: undefined }
  | { readonly confidence: null; readonly confidenceReason: ConfidenceReason };

/** The form that the output of a model must have: its name, and the JSON Schema of it. */
export interface OutputSchema {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/**
 * An answer with a confidence. It says nothing that a vendor refuses: Anthropic has no bounds of numbers, and OpenAI
 * takes `strict` only where all fields are required and no others are allowed.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations (2026-11)
 * @see https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas (2026-11)
 */
export const CONFIDENT_ANSWER: OutputSchema = {
  name: 'answer_with_confidence',
  schema: {
    type: 'object',
    properties: {
      answer: { type: 'string' },
      confidence: { type: 'number', description: 'from 0 to 1' },
    },
    required: ['answer', 'confidence'],
    additionalProperties: false,
  },
};

/**
 * What a model is told beside its prompt. Groups do not store it: another text would ask otherwise in the same group. A
 * server that enforces a schema may not show it to the model.
 */
export const CONFIDENCE_REQUESTS: Readonly<Record<ConfidenceForm, string>> = {
  structured:
    'Reply with a JSON object of two fields: "answer", a string, is your answer, and "confidence", a number from 0 to 1, is how likely it is to be correct.',
  tagged:
    'End your reply with your answer between <answer> and </answer> and, between <confidence> and </confidence>, a number from 0 to 1: how likely it is to be correct.',
};
