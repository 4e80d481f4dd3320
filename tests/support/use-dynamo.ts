import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from './aws-emulators.ts';

/** DynamoDB for the tests of a file: it runs from before the first until after the last. */
export function useDynamo(): Pick<DynamoEmulator, 'openTable'> {
  let started: DynamoEmulator | undefined;
  beforeAll(async () => {
    started = await startDynamo();
  });
  afterAll(async () => await started?.[Symbol.asyncDispose]());
  return {
    openTable: async () => {
      if (started === undefined) throw new Error('expected a running DynamoDB, received none yet');
      return await started.openTable();
    },
  };
}
