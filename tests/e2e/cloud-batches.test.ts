import { type AwsRequest, type Cloud, connectionLost, type Intercept } from '@thrice/local-cloud';
import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { openCloud, type StackChanges } from '../support/cloud.ts';
import { requestsOf } from '../support/model-servers.ts';
import { groupOf } from '../support/run-thrice.ts';
import { listMessages, pullRows, sendRaw, stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const QUESTIONS = 60;
const CELLS_PER_INVOCATION = 10;

/** A lane whose two invocations answer ten cells each; that of a dead worker is redelivered after its lease. */
const changes: StackChanges = {
  functions: { Answer: { timeoutSeconds: 60 } },
  queues: {
    LaneSim: {
      batchSize: CELLS_PER_INVOCATION,
      maximumConcurrency: 2,
      visibilitySeconds: 61,
      maxReceiveCount: 4,
    },
  },
};

/** Follows the cells that each process has claimed and not committed, and kills one process among ten cells. */
class BatchKiller {
  functions: Cloud['functions'] | undefined;
  /** The cells in flight when the process was killed. */
  lost: readonly string[] | undefined;
  peak = 0;
  readonly #inFlight = new Map<string, Set<string>>();
  #killed: string | undefined;

  readonly intercept: Intercept = async (request, proceed) => {
    const { environmentId = '' } = request;
    if (!environmentId.startsWith('Answer-')) return await proceed();
    if (environmentId === this.#killed) return connectionLost;
    const cells = this.#inFlight.get(environmentId) ?? new Set();
    this.#inFlight.set(environmentId, cells);
    const [kind, id = ''] = sortKeyOf(request).split('#');
    if (kind === 'cell') cells.add(id);
    this.peak = Math.max(this.peak, cells.size);
    if (kind === 'call' && this.#killed === undefined && cells.size >= 5) {
      this.#killed = environmentId;
      this.lost = [...cells];
      this.functions?.get('Answer')?.kill(environmentId);
      return connectionLost;
    }
    const response = await proceed();
    if (kind === 'call') cells.delete(id);
    return response;
  };
}

/** The sort key of an item that is put; empty for any other request. */
function sortKeyOf({ operation, input }: AwsRequest): string {
  if (operation !== 'PutItem') return '';
  const item = Reflect.get(input, 'Item') as Readonly<Record<string, { readonly S?: string }>>;
  return item['sk']?.S ?? '';
}

it('answers ten cells in an invocation, of which a crash repeats only its own', async () => {
  const models = { '*': { accuracy: 1, latencyMs: { fixed: 500 } } };
  await using simulator = await startSimulator({ behaviour: { seed: 1, models } });
  const files = stageBenchmark({ url: simulator.url, questionCount: QUESTIONS });
  await using folder = await temporaryFolder(files);
  const killer = new BatchKiller();
  await using cloud = await openCloud({ changes, intercept: killer.intercept, tickSeconds: 1 });
  killer.functions = cloud.functions;
  await sendRaw(cloud, 'sim', ['no JSON']);

  const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
  await waitUntil('the invalid message is in the DLQ', async () => {
    const { unreadable } = await listMessages(cloud, folder.path);
    return unreadable === 1;
  });
  const rows = await pullRows(cloud, folder.path, groupOf(ran), 'a');

  expect(ran.exitCode).toBe(0);
  expect(rows.filter(({ outcome }) => outcome === 'scored')).toHaveLength(QUESTIONS);
  const requests = requestsOf(simulator, 'a');
  const repeated = [...requests].flatMap(([id, count]) => (count > 1 ? [id] : []));
  expect(requests.size).toBe(QUESTIONS);
  expect(killer.lost?.length).toBeGreaterThanOrEqual(5);
  expect(repeated.filter((id) => killer.lost?.includes(id) !== true)).toEqual([]);
  expect(killer.peak).toBeLessThanOrEqual(CELLS_PER_INVOCATION);
});
