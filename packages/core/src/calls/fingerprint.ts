import type { Lane } from '../domain/benchmark.ts';
import { protocolSchema } from '../domain/benchmark-spec.ts';
import type { JournalEntry } from '../domain/call.ts';
import { canonicalText } from '../domain/canonical-text.ts';
import type { CreateDigest } from '../ports/digest.ts';
import type { StepRequest } from '../ports/solver.ts';

/**
 * Identifies what a model is asked, over groups and engines: the SHA-256 of what is sent and could change the answer.
 *
 * A new field of a request counts without a change here. How the answer travels does not: streamed, or prepared in
 * the background. Nor do addresses, time limits and prices, which may be edited while a group runs.
 *
 * @param lane - The lane of the request, known by its name.
 * @returns 64 lowercase hex characters.
 */
export function fingerprintOf(
  request: StepRequest,
  lane: Pick<Lane, 'name' | 'protocol' | 'maxTokensField'>,
  createDigest: CreateDigest,
): string {
  const { lane: _, isStreamed: __, isBackground: ___, ...sent } = request;
  const { name, protocol, maxTokensField } = lane;
  const field = sent.maxTokens === undefined ? undefined : maxTokensField;
  const digest = createDigest();
  digest.update(canonicalText({ ...sent, lane: name, protocol, maxTokensField: field }));
  return digest.hex();
}

/** What a lane may call its limit of tokens. */
const TOKEN_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;

/**
 * Whether a recorded call was made for a request. The protocol of its lane, and what that calls its limit of tokens, may
 * have been edited since.
 */
export function isCallFor(
  request: StepRequest,
  { fingerprint }: Pick<JournalEntry, 'fingerprint'>,
  createDigest: CreateDigest,
): boolean {
  const { lane: name } = request;
  return protocolSchema.options.some((protocol) =>
    TOKEN_FIELDS.some((maxTokensField) => {
      const lane = { name, protocol, maxTokensField };
      return fingerprintOf(request, lane, createDigest) === fingerprint;
    }),
  );
}

/** Which of the answers to the same request a cell asks for next, from 0: a solver may ask the same more than once. */
export function nextSample(fingerprint: string, recorded: Iterable<JournalEntry>): number {
  let count = 0;
  for (const entry of recorded) if (entry.fingerprint === fingerprint) count += 1;
  return count;
}
