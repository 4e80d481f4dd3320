import { enqueueGroup, resolveBenchmark, ThriceError } from '@thrice/core';
import * as z from 'zod';
import { compose } from './compose.ts';
import { type BatchResponse, handleRecords } from './sqs-event.ts';

const planMessageSchema = z.strictObject({ v: z.literal(1), group: z.string().min(1) });

/** Sends a stored plan's tasks to their lanes; sent twice, a task is one cell all the same. */
export async function handler(event: unknown): Promise<BatchResponse> {
  const { ledger, blobs, queue, log } = compose();
  return await handleRecords(event, log, async ({ body }) => {
    const { group } = planMessageSchema.parse(JSON.parse(body));
    const record = await ledger.readGroup(group);
    if (record === undefined) {
      throw new ThriceError({ code: 'unknown-group', message: `no group ${group}` });
    }
    if (record.isPlanned) return;
    const { header } = record;
    const benchmark = resolveBenchmark(header.spec, header.specSource.path);
    await enqueueGroup(header, benchmark, { ledger, blobs, queue });
    log.info('planned', { group, runs: header.runs.length });
  });
}
