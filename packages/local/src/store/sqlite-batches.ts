import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import {
  type Batch,
  type BatchedCall,
  type Batches,
  batchedCallSchema,
  batchSchema,
  type CellKey,
  limits,
  type NewBatchedCall,
  type WaitingCall,
} from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';
import { readStored } from './read-stored.ts';
import { prepareStatements, type Statements } from './sqlite-store.ts';

type Room = Parameters<Batches['enter']>[2];

/** The batches of groups in the ledger's SQLite file. A batch and the calls that enter it change in one transaction. */
export class SqliteBatches implements Batches {
  readonly #commit: GroupCommit;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync, commit: GroupCommit) {
    this.#commit = commit;
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  enter(group: string, call: NewBatchedCall, room: Room): Promise<WaitingCall> {
    return this.#commit.write(() => this.#enter(group, call, room));
  }

  #enter(group: string, call: NewBatchedCall, room: Room): WaitingCall {
    const existing = this.#find(call.cell, call.place.step);
    if (existing?.state === 'waiting') return existing;
    const bytes = Buffer.byteLength(JSON.stringify(call.request));
    const batch = this.#makeRoom(group, call, { ...room, bytes: room.bytes - bytes });
    const callCount = (batch?.callCount ?? 0) + 1;
    const grown: Batch = {
      schemaVersion: 1,
      state: callCount < room.requestCount ? 'gathering' : 'closed',
      batchId: batch?.batchId ?? call.callId,
      group,
      lane: call.request.lane,
      model: call.request.model,
      callCount,
      bytes: (batch?.bytes ?? 0) + bytes,
      enteredAtMs: call.enteredAtMs,
    };
    this.#write(grown);
    const waiting: WaitingCall = { ...call, state: 'waiting', batchId: grown.batchId };
    this.#sql.upsertCall.run(
      ...columnsOf(call.cell, call.place.step),
      waiting.batchId,
      waiting.callId,
      1,
      JSON.stringify(waiting),
    );
    return waiting;
  }

  /** Returns the batch that gathers calls and has room; closes the one that has none. */
  #makeRoom(group: string, { request }: NewBatchedCall, room: Room): Batch | undefined {
    const row = this.#sql.selectGathering.get(group, request.lane, request.model);
    if (row === undefined) return undefined;
    const batch = parseBatch(row);
    if (batch.bytes <= room.bytes) return batch;
    if (batch.state === 'gathering') this.#write({ ...batch, state: 'closed' });
    return undefined;
  }

  async findCall(cell: CellKey, step: string): Promise<BatchedCall | undefined> {
    return this.#find(cell, step);
  }

  #find(cell: CellKey, step: string): BatchedCall | undefined {
    const row = this.#sql.selectCall.get(...columnsOf(cell, step));
    return row === undefined ? undefined : parseCall(row);
  }

  async readCalls(
    batchId: string,
    callIds: readonly string[],
  ): Promise<ReadonlyMap<string, BatchedCall>> {
    const rows = this.#sql.selectCalls.all(JSON.stringify(callIds), batchId);
    return new Map(rows.map(parseCall).map((call) => [call.callId, call]));
  }

  async *listCalls(batchId: string): AsyncIterable<BatchedCall> {
    let last = '';
    for (;;) {
      const page = this.#sql.selectPage.all(batchId, last, limits.pageSize).map(parseCall);
      yield* page;
      if (page.length < limits.pageSize) return;
      last = page.at(-1)?.callId ?? '';
    }
  }

  async endCalls(ended: readonly BatchedCall[]): Promise<void> {
    if (ended.length === 0) return;
    await this.#commit.write(() => {
      for (const call of ended) {
        const { cell, place, callId } = call;
        this.#sql.endCall.run(JSON.stringify(call), ...columnsOf(cell, place.step), callId);
      }
    });
  }

  async removeCalls(calls: readonly BatchedCall[]): Promise<void> {
    if (calls.length === 0) return;
    await this.#commit.write(() => {
      for (const { cell, place, callId } of calls)
        this.#sql.deleteCall.run(...columnsOf(cell, place.step), callId);
    });
  }

  async list(group: string): Promise<readonly Batch[]> {
    return this.#sql.selectBatches.all(group).map(parseBatch);
  }

  async replace(existing: Batch, batch: Batch): Promise<boolean> {
    return await this.#commit.write(() => {
      const row = this.#sql.selectBatch.get(batch.batchId);
      const stored = row === undefined ? undefined : parseBatch(row);
      if (isDeepStrictEqual(stored, batch)) return true;
      if (!isDeepStrictEqual(stored, existing)) return false;
      this.#write(batch);
      return true;
    });
  }

  async remove({ batchId }: Batch): Promise<void> {
    await this.#commit.write(() => this.#sql.deleteBatch.run(batchId));
  }

  #write(batch: Batch): void {
    this.#sql.upsertBatch.run(batch.batchId, batch.group, JSON.stringify(batch));
  }
}

function columnsOf({ run, config, id }: CellKey, step: string) {
  return [run, config, id, step] as const;
}

function parseBatch(row: Readonly<Record<string, unknown>>): Batch {
  return readStored(batchSchema, row['batch'], 'a batch');
}

function parseCall(row: Readonly<Record<string, unknown>>): BatchedCall {
  return readStored(batchedCallSchema, row['call'], 'a call of a batch');
}

const THIS_STEP = 'run = ? AND config = ? AND id = ? AND step = ?';
const STATEMENTS = {
  selectBatches: 'SELECT batch FROM batches WHERE group_name = ? ORDER BY batch_no',
  selectGathering: `SELECT batch FROM batches WHERE group_name = ?
    AND batch ->> '$.state' = 'gathering' AND batch ->> '$.lane' = ? AND batch ->> '$.model' = ?`,
  selectBatch: 'SELECT batch FROM batches WHERE batch_id = ?',
  upsertBatch: `INSERT INTO batches (batch_id, group_name, batch) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET batch = excluded.batch`,
  deleteBatch: 'DELETE FROM batches WHERE batch_id = ?',
  selectCall: `SELECT call FROM batched_calls WHERE ${THIS_STEP}`,
  selectCalls: `SELECT call FROM json_each(?) AS wanted CROSS JOIN batched_calls
    ON batch_id = ? AND call_id = wanted.value`,
  selectPage: `SELECT call FROM batched_calls
    WHERE batch_id = ? AND call_id > ? ORDER BY call_id LIMIT ?`,
  upsertCall: `INSERT INTO batched_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    batch_id = excluded.batch_id, call_id = excluded.call_id, is_waiting = excluded.is_waiting,
    call = excluded.call`,
  endCall: `UPDATE batched_calls SET is_waiting = 0, call = ?
    WHERE ${THIS_STEP} AND call_id = ? AND is_waiting = 1`,
  deleteCall: `DELETE FROM batched_calls WHERE ${THIS_STEP} AND call_id = ?`,
} as const;
