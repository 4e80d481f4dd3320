import { createAlarms } from './alarms.ts';
import { createDirectory } from './directory.ts';
import { setFunctionDefaults } from './function-defaults.ts';
import { createFunctions } from './functions.ts';
import { createQueues } from './queues.ts';
import { createApiKeys } from './secrets.ts';
import { createStorage } from './storage.ts';

/**
 * Creates all resources of one stage in one AWS account.
 *
 * @returns The stage's directory, which `sst deploy` prints and writes to `.sst/outputs.json`.
 */
export function createStack() {
  // Goes first because the defaults apply only to functions that are created later.
  setFunctionDefaults();
  const storage = createStorage();
  const queues = createQueues();
  const apiKeys = createApiKeys();
  const alarmTopic = new sst.aws.SnsTopic('Alarms');
  const directory = createDirectory({ storage, queues, alarmTopic });
  const functions = createFunctions({ storage, queues, apiKeys, link: directory.link });
  createAlarms({ queues, functions, alarmTopic });
  // A copy, because SST modifies the returned object.
  return { ...directory.entries };
}
