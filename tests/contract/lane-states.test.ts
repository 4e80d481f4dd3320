import { DatabaseSync } from 'node:sqlite';
import { DynamoLaneStates } from '@thrice/aws';
import { LocalEngine } from '@thrice/local';
import { laneStateKey } from '../../packages/aws/src/dynamo/dynamo-items.ts';
import { DynamoTable } from '../../packages/aws/src/dynamo/dynamo-table.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { MemoryLaneStates } from '../support/memory-lane-states.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeLaneStatesContract } from './lane-states-contract.ts';

const dynamo = useDynamo();

describeLaneStatesContract('SQLite on file, two connections', async () => {
  const folder = await temporaryFolder();
  const engine = new LocalEngine(folder.path, new FakeClock());
  const other = new LocalEngine(folder.path, new FakeClock());
  return {
    states: engine.laneStates,
    other: other.laneStates,
    damage: (lane, text) => {
      using database = new DatabaseSync(folder.resolve('thrice.db'));
      database.prepare('UPDATE lanes SET state = ? WHERE lane = ?').run(text, lane);
    },
    [Symbol.asyncDispose]: async () => {
      engine[Symbol.dispose]();
      other[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});

describeLaneStatesContract('DynamoDB, emulated', async () => {
  const table = await dynamo.openTable();
  const init = { tableName: table.tableName, clock: new FakeClock(), random: () => 0 };
  return {
    states: new DynamoLaneStates({ ...init, client: table.client }),
    other: new DynamoLaneStates({ ...init, client: table.otherClient }),
    damage: async (lane, payload) => {
      const items = new DynamoTable({ ...init, client: table.client });
      await items.update(laneStateKey(lane), { set: { payload } });
    },
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});

describeLaneStatesContract('the fake', async () => {
  const states = new MemoryLaneStates();
  const damage = () => undefined;
  return { states, other: states, damage, [Symbol.asyncDispose]: async () => undefined };
});
