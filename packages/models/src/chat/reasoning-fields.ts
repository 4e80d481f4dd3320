import * as z from 'zod';
import { emptyToNull } from '../call/body-fields.ts';

/** A text; unreadable reasoning must not cost the answer beside it. */
const textSchema = z.string().nullish().catch(null);

/** The fields of a message that vendors put reasoning into; some fill two of them with the same text. */
export const reasoningFields = {
  // DeepSeek, Kimi, Grok, and most servers: https://api-docs.deepseek.com/guides/thinking_mode (2026-11)
  reasoning_content: textSchema,
  // OpenRouter, Groq, newer vLLM: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens (2026-11)
  reasoning: textSchema,
  // Ollama: https://docs.ollama.com/capabilities/thinking (2026-11)
  thinking: textSchema,
  // OpenRouter, MiniMax: parts of type `reasoning.text`, `reasoning.summary` and `reasoning.encrypted`.
  reasoning_details: z
    .array(z.object({ text: textSchema, summary: textSchema }).catch({ text: null, summary: null }))
    .nullish()
    .catch(null),
};
type ReasoningFields = z.infer<z.ZodObject<typeof reasoningFields>>;

/** The reasoning of a message, from the first of its fields that has one. */
export function readReasoning(message: ReasoningFields): string | null {
  const details = (message.reasoning_details ?? []).map(({ text, summary }) => text ?? summary);
  return (
    emptyToNull(message.reasoning_content) ??
    emptyToNull(message.reasoning) ??
    emptyToNull(message.thinking) ??
    emptyToNull(details.join(''))
  );
}
