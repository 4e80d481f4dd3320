import { finalizeGroup, resolveBenchmark, ThriceError } from '@thrice/core';
import { compose } from './compose.ts';
import { finalizeMessageSchema } from './finalize-message.ts';
import { type BatchResponse, handleRecords } from './sqs-event.ts';

/** Writes the results of a group, counted from its records; the last writer has seen the most. */
export async function handler(event: unknown): Promise<BatchResponse> {
  const composition = compose();
  const { ledger, log } = composition;
  return await handleRecords(event, log, async ({ body }) => {
    const { group } = finalizeMessageSchema.parse(JSON.parse(body));
    const record = await ledger.readGroup(group);
    if (record === undefined) {
      throw new ThriceError({ code: 'unknown-group', message: `no group ${group}` });
    }
    const { header } = record;
    const benchmark = resolveBenchmark(header.spec, header.specSource.path);
    const summary = await finalizeGroup(header, benchmark, undefined, composition);
    log.info('finalized', { group, configs: summary.configs.length });
  });
}
