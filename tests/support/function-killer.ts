import { type AwsRequest, type Cloud, type Intercept, lost } from '@thrice/local-cloud';
import * as z from 'zod';

/** What an answer function does with the stores, in the order of a cell's life. */
const steps = [
  'extend',
  'read-group',
  'list-openBreakers',
  'claim',
  'read-question',
  'commit',
  'complete',
  'count',
  'read-tallies',
  'message',
] as const;
type Step = (typeof steps)[number];

interface Kill {
  readonly step: Step;
  /** `never`: the request is not answered, until the function has timed out. */
  readonly moment: 'before' | 'after' | 'never';
}

interface Cell {
  readonly config: string;
  readonly id: string;
}

const keySchema = z.object({ pk: z.object({ S: z.string() }), sk: z.object({ S: z.string() }) });
const querySchema = z.object({
  ExpressionAttributeValues: z.object({ ':p': z.object({ S: z.string() }) }),
});

/**
 * Kills functions at each step of a cell, once before the step is done and once after, its answer unseen;
 * and lets one time out that waits for a cell's completion.
 */
export class FunctionKiller {
  functions: Cloud['functions'] | undefined;
  readonly #component: string;
  readonly #left: Kill[] = [
    { step: 'complete', moment: 'never' },
    ...steps.flatMap((step): Kill[] => [
      { step, moment: 'before' },
      { step, moment: 'after' },
    ]),
  ];
  readonly #cellOf = new Map<string, Cell>();
  readonly #ended = new Set<string>();
  readonly #uncommitted: Cell[] = [];

  /** @param component - The function, for example `Answer`. */
  constructor(component: string) {
    this.#component = component;
  }

  /** Kills that are still to come. */
  get left(): readonly string[] {
    return this.#left.map(({ step, moment }) => `${moment} ${step}`);
  }

  /** Ids of the cells of a config whose answer was lost before it was committed. */
  uncommitted(config: string): readonly string[] {
    return this.#uncommitted.filter((cell) => cell.config === config).map(({ id }) => id);
  }

  readonly intercept: Intercept = async (request, proceed) => {
    const { environmentId } = request;
    if (!environmentId?.startsWith(`${this.#component}-`)) return await proceed();
    if (this.#ended.has(environmentId)) return lost;
    const step = stepOf(request);
    if (step === 'claim') this.#cellOf.set(environmentId, cellOf(request));
    const kill = this.#take(step, environmentId);
    if (kill === undefined) return await proceed();
    if (kill.moment === 'never') return await Promise.withResolvers<never>().promise;
    this.#ended.add(environmentId);
    if (kill.moment === 'after') await proceed();
    this.functions?.get(this.#component)?.kill(environmentId);
    return lost;
  };

  #take(step: Step | undefined, environmentId: string): Kill | undefined {
    const index = this.#left.findIndex((kill) => kill.step === step);
    const [kill] = index === -1 ? [] : this.#left.splice(index, 1);
    const cell = this.#cellOf.get(environmentId);
    const isUncommitted = kill?.step === 'commit' && kill.moment === 'before';
    if (isUncommitted && cell !== undefined) this.#uncommitted.push(cell);
    return kill;
  }
}

function stepOf(request: AwsRequest): Step | undefined {
  return stepReaders[request.operation]?.(request.input);
}

const stepReaders: Readonly<Record<string, (input: AwsRequest['input']) => Step | undefined>> = {
  ChangeMessageVisibilityBatch: () => 'extend',
  GetObject: () => 'read-question',
  SendMessage: (input) =>
    String(Reflect.get(input, 'QueueUrl')).includes('DeadLetterQueue') ? 'message' : undefined,
  GetItem: (input) =>
    keyOf(Reflect.get(input, 'Key')).pk.startsWith('group#') ? 'read-group' : undefined,
  PutItem: (input) => {
    const { sk } = keyOf(Reflect.get(input, 'Item'));
    if (sk.startsWith('call#')) return 'commit';
    return sk.startsWith('cell#') ? 'claim' : undefined;
  },
  UpdateItem: (input) => {
    if (keyOf(Reflect.get(input, 'Key')).sk.startsWith('tally#')) return 'count';
    return JSON.stringify(input).includes('"done"') ? 'complete' : undefined;
  },
  Query: (input) => {
    const partition = querySchema.parse(input).ExpressionAttributeValues[':p'].S;
    if (partition === 'lanes') return 'list-openBreakers';
    return partition.startsWith('run#') ? 'read-tallies' : undefined;
  },
};

function cellOf({ input }: AwsRequest): Cell {
  const { pk, sk } = keyOf(Reflect.get(input, 'Item'));
  return { config: pk.split('#')[1] ?? '', id: sk.replace(/^cell#/, '') };
}

function keyOf(item: unknown): { readonly pk: string; readonly sk: string } {
  const { pk, sk } = keySchema.parse(item);
  return { pk: pk.S, sk: sk.S };
}
