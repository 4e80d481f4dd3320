import { expect, it } from 'vitest';
import { parseLanePace } from '../../../packages/aws/src/dynamo/dynamo-lane-paces.ts';
import { aLanePace } from '../../support/builders.ts';

it.each([
  [
    'that lacks a field',
    JSON.stringify({ ...aLanePace(), evidence: undefined }),
    'payload.evidence',
  ],
  ['that is no JSON', '{', 'payload'],
])('a pace %s is refused with its item and the field', (_, payload, field) => {
  const item = { pk: 'lane#lab', sk: 'pace', schemaVersion: 1, token: 'a', payload };

  expect(() => parseLanePace(item, 'cells')).toThrow(
    `cells: item lane#lab / pace: expected a schemaVersion 1 item, received invalid values in ${field};`,
  );
});
