import { describe, expect, it } from 'vitest';
import { failedMessageIds } from '../../../packages/local-cloud/src/failed-message-ids.ts';

const batch = ['a', 'b', 'c'];
const failuresOf = (response: unknown) => [...failedMessageIds(JSON.stringify(response), batch)];

describe('failedMessageIds', () => {
  it.each([
    ['nothing', null],
    ['an empty response', {}],
    ['no list', { batchItemFailures: null }],
    ['an empty list', { batchItemFailures: [] }],
  ])('treats %s as success of all messages', (_, response) => {
    expect(failuresOf(response)).toEqual([]);
  });

  it('returns the messages that failed', () => {
    const response = { batchItemFailures: [{ itemIdentifier: 'b' }, { itemIdentifier: 'c' }] };

    expect(failuresOf(response)).toEqual(['b', 'c']);
  });

  it.each([
    ['a string', 'done'],
    ['an empty identifier', { batchItemFailures: [{ itemIdentifier: '' }] }],
    ['no identifier', { batchItemFailures: [{ itemIdentifier: null }] }],
    ['another key', { batchItemFailures: [{ messageId: 'b' }] }],
    ['a message of another batch', { batchItemFailures: [{ itemIdentifier: 'x' }] }],
  ])('treats %s as failure of all messages', (_, response) => {
    expect(failuresOf(response)).toEqual(batch);
  });
});
