/** What a worker of a history does, a step at a time. */
export type SteppedWork = (turns: Turns) => Promise<void>;

/** What a few workers do at the same time, and what has to be true however their steps follow each other. */
export interface Interleaving {
  readonly workers: Readonly<Record<string, SteppedWork>>;
  /** How many steps a worker takes before it dies. @default it does not die */
  readonly lifetimes?: Readonly<Record<string, number>>;
  /** @param history - The steps in order, as in `reader wake`. */
  readonly check: (history: readonly string[]) => Promise<void>;
}

/** Lets one worker go on from one step to the next when it is its turn. */
export class Turns {
  readonly #history: string[];
  readonly name: string;
  /** How many steps it takes before it dies, as by `kill -9`. */
  #stepsLeft: number;
  readonly #died = Promise.withResolvers<void>();
  #waiting: { readonly isReady: () => boolean; readonly go: () => void } | undefined;
  #isOver = false;
  #hasStopped = Promise.withResolvers<void>();

  constructor(name: string, history: string[] = [], lifetime = Number.POSITIVE_INFINITY) {
    this.name = name;
    this.#history = history;
    this.#stepsLeft = lifetime;
  }

  /** Waits for the worker's turn to take a step. */
  async step(name: string, isReady: () => boolean = () => true): Promise<void> {
    await new Promise<void>((go) => {
      this.#waiting = { isReady, go };
      this.#hasStopped.resolve();
    });
    this.#stepsLeft -= 1;
    if (this.#stepsLeft < 0) {
      this.#history.push(`${this.name} dies before ${name}`);
      this.#died.resolve();
      await new Promise(() => undefined);
    }
    this.#history.push(`${this.name} ${name}`);
  }

  /** Wraps a store so that each call of these methods is a step. */
  watch<Store extends object>(store: Store, steps: readonly (keyof Store & string)[]): Store {
    return new Proxy(store, {
      get: (target, property) => {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== 'function') return member;
        const call = (args: readonly unknown[]): unknown => Reflect.apply(member, target, args);
        const name = steps.find((step) => step === property);
        if (name === undefined) return (...args: readonly unknown[]) => call(args);
        return async (...args: readonly unknown[]) => {
          await this.step(name);
          return await call(args);
        };
      },
    });
  }

  get isReady(): boolean {
    return !this.#isOver && this.#waiting?.isReady() === true;
  }

  /** Starts the work, up to its first step. */
  async start(work: SteppedWork): Promise<{ readonly end: Promise<void> }> {
    const end = Promise.race([work(this), this.#died.promise]).finally(() => {
      this.#isOver = true;
      this.#hasStopped.resolve();
    });
    await this.#hasStopped.promise;
    return { end };
  }

  /** Does all of the work, with nobody else at work. */
  async run(work: SteppedWork): Promise<void> {
    const { end } = await this.start(work);
    while (this.isReady) await this.go();
    await end;
  }

  /** Has the worker take its step, up to the next one. */
  async go(): Promise<void> {
    const { go } = this.#waiting ?? {};
    this.#waiting = undefined;
    this.#hasStopped = Promise.withResolvers();
    go?.();
    await this.#hasStopped.promise;
  }
}

/**
 * Checks every order in which the steps of workers can follow each other, each from the beginning.
 *
 * @param open - Opens stores of their own for each order.
 * @returns How many orders there are.
 */
export async function checkInterleavings(open: () => Promise<Interleaving>): Promise<number> {
  let choices: readonly number[] = [];
  for (let count = 1; ; count += 1) {
    const counts = await runOne(await open(), choices);
    const taken = counts.map((_, at) => choices[at] ?? 0);
    const last = taken.findLastIndex((choice, at) => choice + 1 < (counts[at] ?? 0));
    if (last === -1) return count;
    choices = [...taken.slice(0, last), (taken[last] ?? 0) + 1];
  }
}

/**
 * Runs the workers in one order.
 *
 * @param choices - Which of those that can go does, at each step; the first where there is none.
 * @returns How many could go, at each step.
 */
async function runOne(
  { workers, lifetimes = {}, check }: Interleaving,
  choices: readonly number[],
): Promise<readonly number[]> {
  const history: string[] = [];
  const counts: number[] = [];
  const ends: Promise<void>[] = [];
  const all: Turns[] = [];
  for (const [name, work] of Object.entries(workers)) {
    const turns = new Turns(name, history, lifetimes[name]);
    all.push(turns);
    ends.push((await turns.start(work)).end);
  }
  for (;;) {
    const ready = all.filter(({ isReady }) => isReady);
    if (ready.length === 0) break;
    await ready[choices[counts.length] ?? 0]?.go();
    counts.push(ready.length);
  }
  await Promise.all(ends);
  await check(history);
  return counts;
}
