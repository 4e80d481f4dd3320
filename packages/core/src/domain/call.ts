import * as z from 'zod';

/** Why a model stopped: the unified value beside the vendor's own word. */
export const finishReasonSchema = z.enum([
  'stop',
  'length',
  'tool-calls',
  'content-filter',
  'other',
]);
/** Why a model stopped. */
export type FinishReason = z.infer<typeof finishReasonSchema>;

/** The published facts of one paid request; unknown is null, never 0. */
export const callSchema = z.strictObject({
  step: z.string(),
  lane: z.string(),
  endpoint: z.string(),
  model: z.string(),
  servedModel: z.string().nullable(),
  startedAt: z.iso.datetime(),
  /** Request sent to body read, ms. */
  latencyMs: z.number(),
  /** Request sent to first token, ms; null unless streamed. */
  ttftMs: z.number().nullable(),
  /** Time spent waiting for a slot before it was sent, ms. */
  waitMs: z.number(),
  inputTokens: z.int().nullable(),
  cachedInputTokens: z.int().nullable(),
  outputTokens: z.int().nullable(),
  reasoningTokens: z.int().nullable(),
  costUsd: z.number().nullable(),
  finishReason: finishReasonSchema.nullable(),
  rawFinishReason: z.string().nullable(),
  /** True where the journal answered instead of the model. */
  replayed: z.boolean(),
});
/** The published facts of one paid request. */
export type Call = z.infer<typeof callSchema>;

/** What the model said, told apart: an empty text is an answer, a missing one is not. */
export const modelOutputSchema = z.strictObject({
  /** The message's text; null if the response had none. */
  text: z.string().nullable(),
  /** Reasoning shown beside the text. */
  reasoning: z.string().nullable(),
  /** The model's own refusal text, where the vendor marks one. */
  refusal: z.string().nullable(),
});
/** What the model said. */
export type ModelOutput = z.infer<typeof modelOutputSchema>;

/** A journal entry: the call's facts, its output, and the untouched response body. */
export const journalEntrySchema = z.strictObject({
  schemaVersion: z.literal(1),
  call: callSchema,
  output: modelOutputSchema,
  /** The response as received; for a stream the assembled chunks. */
  raw: z.unknown(),
});
/** A journal entry, keyed by (cell, step) and written before anybody reads the answer. */
export type JournalEntry = z.infer<typeof journalEntrySchema>;
