import { type FailedCall, isAttempt } from '../calls/call-outcome.ts';
import type { Journal } from '../domain/call.ts';
import type { Attempt, CellRecord, GivenUpCall } from '../domain/cell.ts';

/** The failed attempts of a cell in this generation, and how many of them the call in progress has used up. */
export class CellAttempts {
  /** The calls that have failed for good, so that another model is asked. */
  readonly givenUp: GivenUpCall[];
  /** Those that failed in this delivery, for the log of the cell. */
  readonly log: Attempt[] = [];
  /** The step of the call in progress. */
  step = 'answer';
  /** Whether a failure in this delivery has brought something with a bound of its own: an attempt, or a response that is expected. */
  hasProgressed = false;
  readonly #generation: number;
  #total: number;
  /** The last of them, as far as they are the lane's if it turns out to be out. */
  #suspects = 0;
  /** Those before the call in progress, where another model was asked first. */
  #beforeCall = 0;

  constructor({
    attempts,
    givenUp = [],
    generation,
  }: Pick<CellRecord, 'attempts' | 'givenUp' | 'generation'>) {
    this.#total = attempts;
    this.givenUp = [...givenUp];
    this.#generation = generation;
  }

  /** Over all steps and deliveries. */
  get total(): number {
    return this.#total;
  }

  /** @param journal - The steps before the call in progress. */
  ofCall(journal: Journal): number {
    return this.#total - this.#before(journal);
  }

  /** Notes that a call begins. A worker may have crashed after it recorded a step, before it stored the count with the cell. */
  startCall(step: string, journal: Journal): void {
    this.step = step;
    this.#total = Math.max(this.#total, this.#before(journal));
  }

  /** Notes that the next call of the step is made instead. */
  passOver(): void {
    this.#beforeCall = this.#total;
    this.#suspects = 0;
  }

  /** Counts a failed call, if it is an attempt of the cell. */
  add({ error, diagnosis, isExpected = false }: FailedCall): void {
    if (diagnosis?.outage !== undefined) this.takeBackSuspects();
    const isCounted = !isExpected && isAttempt(error) && diagnosis?.isAttempt !== false;
    if (isCounted || isExpected) this.hasProgressed = true;
    if (!isCounted) return;
    this.#total += 1;
    this.#suspects = diagnosis?.isSuspect === true ? this.#suspects + 1 : 0;
  }

  /** Uncounts attempts that failed because the lane was out, which shows only after some. */
  takeBackSuspects(): void {
    this.#total -= this.#suspects;
    this.#suspects = 0;
  }

  /** Notes that the lane has answered: what failed before was not an outage. */
  clearSuspects(): void {
    this.#suspects = 0;
  }

  #before(journal: Journal): number {
    const recorded = [...journal.values()].map(({ generation, failedAttempts }) =>
      generation === this.#generation ? failedAttempts : 0,
    );
    const givenUp = this.givenUp.map(({ failedAttempts }) => failedAttempts);
    return Math.max(this.#beforeCall, ...recorded, ...givenUp);
  }
}
