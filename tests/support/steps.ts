/** Where a process comes to harm. */
export interface Mishap {
  /** At which of its steps, from 0. */
  readonly at: number;
  /** Whether that step takes effect all the same. */
  readonly isDone: boolean;
  /** The process dies: every later step fails too. Else only this one does. */
  readonly isFatal: boolean;
}

/** The steps of a process: the calls of methods of what it works with, in order. */
export class Steps {
  /** `store.method`, in order. */
  readonly names: string[] = [];
  readonly #mishap: Mishap | undefined;
  readonly #createError: () => Error;
  #isDead = false;

  /**
   * @param mishap - @default none
   * @param createError - What a failing step throws.
   */
  constructor(mishap?: Mishap, createError: () => Error = () => new Error('no longer there')) {
    this.#mishap = mishap;
    this.#createError = createError;
  }

  /** Whether the process died. */
  get isDead(): boolean {
    return this.#isDead;
  }

  /** The step that failed, with whether it took effect; undefined if none has. */
  get failed(): { readonly name: string; readonly isDone: boolean } | undefined {
    const name = this.#mishap && this.names[this.#mishap.at];
    return name === undefined ? undefined : { name, isDone: this.#mishap?.isDone === true };
  }

  /** Makes every call of an asynchronous method of a store a step. */
  watch<Store extends object>(name: string, store: Store): Store {
    return new Proxy(store, {
      get: (target, property) => {
        const member: unknown = Reflect.get(target, property);
        if (typeof member !== 'function') return member;
        return (...args: readonly unknown[]) =>
          this.#take(
            `${name}.${String(property)}`,
            async () => (await Reflect.apply(member, target, args)) as unknown,
          );
      },
    });
  }

  async #take(name: string, work: () => Promise<unknown>): Promise<unknown> {
    if (this.#isDead) throw this.#createError();
    const isHere = this.#mishap?.at === this.names.length;
    this.names.push(name);
    if (!isHere) return await work();
    this.#isDead = this.#mishap?.isFatal === true;
    if (this.#mishap?.isDone === true) await work();
    throw this.#createError();
  }
}
