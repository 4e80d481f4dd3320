import type { CellStep, SharedCall } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey, aCellResult, aJournalEntry } from '../../support/builders.ts';
import { type LedgerOnTable, openLedger } from '../../support/dynamo-ledgers.ts';
import {
  type AnswerRequest,
  jsonAnswer,
  loseAnswer,
  readAnswer,
} from '../../support/sdk-faults.ts';
import { useDynamo } from '../../support/use-dynamo.ts';

const dynamo = useDynamo();

const call: SharedCall = { run: 'demo-r1', config: null, fingerprint: 'a'.repeat(64), sample: 0 };
const [first, second] = ['a', 'b'].map(
  (config): CellStep => ({
    ...aCellKey({ config }),
    step: 'answer',
  }),
) as [CellStep, CellStep];

/** Returns the item with the refusal of a condition, as DynamoDB does and the emulator does not. */
const refuseWithItem: (table: () => LedgerOnTable) => AnswerRequest =
  (table) => async (sent, send) => {
    const answer = await send();
    const isRefused = answer.statusCode === 400 && sent.operation === 'PutItem';
    if (!isRefused || sent.input['ReturnValuesOnConditionCheckFailure'] !== 'ALL_OLD')
      return answer;
    const { pk, sk } = sent.input['Item'] as Readonly<Record<string, { readonly S: string }>>;
    const item = await table().item(pk?.S ?? '', sk?.S ?? '');
    return jsonAnswer(400, { ...(await readAnswer(answer)), Item: item });
  };

/** A table that does not return the item of a refused claim, as dynalite does not. */
const refuseWithoutItem: AnswerRequest = async (sent, send) => {
  const answer = await send();
  if (answer.statusCode !== 400 || sent.operation !== 'PutItem') return answer;
  const { Item: _, ...refusal } = await readAnswer(answer);
  return jsonAnswer(400, refusal);
};

/** Opens a table where two cells are in work, and the first of them buys the call. */
async function openClaimed(answer?: AnswerRequest): Promise<LedgerOnTable> {
  const table = await openLedger(dynamo, answer);
  await table.other.claimCell(first, 0, 'ann');
  await table.other.claimCell(second, 0, 'bob');
  await table.responseCache.claimCall(call, first);
  return table;
}

function operationsOf({ sent }: LedgerOnTable, from: number): readonly string[] {
  return sent.slice(from).map(({ operation }) => operation);
}

describe('DynamoResponseCache', () => {
  it('sends one request for a call to buy, and two for one to take', async () => {
    let table: LedgerOnTable | undefined;
    const answer = refuseWithItem(() => {
      if (table === undefined) throw new Error('expected an open table');
      return table;
    });
    await using opened = await openClaimed(answer);
    table = opened;
    expect(operationsOf(opened, 0)).toEqual(['PutItem']);
    await opened.other.commitCall(first, aJournalEntry());

    const claim = await opened.responseCache.claimCall(call, second);

    expect(claim).toMatchObject({ kind: 'bought', buyer: first });
    expect(operationsOf(opened, 1)).toEqual(['PutItem', 'BatchGetItem']);
  });

  it('reads the claim itself where the table does not return it', async () => {
    await using table = await openClaimed(refuseWithoutItem);

    const claim = await table.responseCache.claimCall(call, second);

    expect(claim).toMatchObject({ kind: 'held' });
    expect(operationsOf(table, 1)).toEqual(['PutItem', 'GetItem', 'BatchGetItem']);
  });

  it('grants a call whose first response was lost', async () => {
    let isLost = false;
    await using table = await openLedger(dynamo, async (_, send) => {
      if (isLost) return await send();
      isLost = true;
      return await loseAnswer(send);
    });
    await table.other.claimCell(first, 0, 'ann');

    expect(await table.responseCache.claimCall(call, first)).toEqual({ kind: 'granted' });
  });

  it('grants nothing whose buyer has bought and ended while its records were read', async () => {
    let isBought = false;
    await using table: LedgerOnTable = await openClaimed(async (sent, send) => {
      if (sent.operation !== 'BatchGetItem' || isBought) return await send();
      isBought = true;
      // The call is read before it is committed, the cell after it is done.
      const answer = await send();
      const { Responses: responses, ...rest } = await readAnswer(answer);
      await table.other.commitCall(first, aJournalEntry());
      await table.other.completeCell(first, 'ann', aCellResult(), []);
      const items = Object.entries(responses as Readonly<Record<string, readonly object[]>>).map(
        ([name, found]) =>
          [name, found.map((item) => ({ ...item, state: { S: 'done' } }))] as const,
      );
      return jsonAnswer(200, { ...rest, Responses: Object.fromEntries<unknown>(items) });
    });

    const claim = await table.responseCache.claimCall(call, second);

    expect(claim).toMatchObject({ kind: 'bought', buyer: first });
  });

  it('takes over nothing that its buyer has claimed again in between', async () => {
    let isClaimedAgain = false;
    await using table: LedgerOnTable = await openClaimed(async (sent, send) => {
      const isTakeOver = String(sent.input['ConditionExpression']).includes('#token');
      if (!isTakeOver || isClaimedAgain) return await send();
      isClaimedAgain = true;
      await table.other.claimCell(first, 0, 'ann');
      await table.responseCache.claimCall(call, first);
      return await send();
    });
    await table.other.releaseCell(first, 'ann', [], 0);

    const claim = await table.responseCache.claimCall(call, second);

    expect(isClaimedAgain).toBe(true);
    expect(claim).toMatchObject({ kind: 'held' });
  });

  it('reads strongly consistently', async () => {
    await using table = await openClaimed();
    await table.responseCache.claimCall(call, second);
    await table.responseCache.findCall([call]);

    const reads = table.sent.filter(({ operation }) => operation.includes('Get'));
    const texts = reads.map(({ input }) => JSON.stringify(input));
    expect(texts.every((text) => text.includes('"ConsistentRead":true'))).toBe(true);
    expect(reads.length).toBeGreaterThan(0);
  });
});
