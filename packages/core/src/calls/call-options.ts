import { breakersFor, modelRefOf, type OpenBreaker, type OpenBreakers } from '../domain/breaker.ts';
import type { PassedOver } from '../domain/call.ts';
import type { GivenUpCall } from '../domain/cell.ts';
import { ThriceError } from '../errors.ts';
import type { SolverMove, StepCall } from '../ports/solver.ts';

/** A call of a step as it is performed, with the models that should have been called before it. */
export interface CallOption extends StepCall {
  readonly insteadOf: readonly PassedOver[];
}

/** A call that cannot be had: it has failed for good, or is blocked. */
export interface PassedOverCall {
  readonly passedOver: ThriceError | OpenBreaker;
}

/**
 * The calls that a step can be made with, in the solver's order, and why those before the current one are passed over.
 *
 * A call that failed for good stays given up for the rest of the generation, and the cell remembers it. One that is
 * blocked is looked at again by the next delivery.
 */
export class CallOptions {
  readonly #calls: readonly StepCall[];
  readonly #insteadOf: PassedOver[];
  readonly #givenUp: GivenUpCall[];
  #failure: ThriceError | undefined;
  #blocker: OpenBreaker | undefined;

  /** @param givenUp - What earlier deliveries have given up; what this one gives up is added to it. */
  constructor(
    { step, request, otherwise = [], insteadOf = [] }: Extract<SolverMove, { kind: 'call' }>,
    givenUp: GivenUpCall[],
  ) {
    this.#calls = [{ step, request }, ...otherwise];
    this.#insteadOf = [...insteadOf];
    this.#givenUp = givenUp;
  }

  /** The calls to try, one after the other, without those that are known to be given up or blocked. */
  *untried(open: () => OpenBreakers): Iterable<CallOption> {
    for (const call of this.#calls) {
      const before = this.#givenUp.find(({ step }) => step === call.step);
      if (before !== undefined) {
        this.#note(call, before.code);
        continue;
      }
      const [breaker] = this.#calls.length === 1 ? [] : breakersFor(call.request, open());
      if (breaker === undefined) yield { ...call, insteadOf: [...this.#insteadOf] };
      else this.passOver(call, breaker, 0);
    }
  }

  /** Notes why a call cannot be had. */
  passOver(call: StepCall, reason: ThriceError | OpenBreaker, failedAttempts: number): void {
    if ('breakerKey' in reason) {
      this.#blocker ??= reason;
      this.#note(call, reason.error.code);
    } else {
      this.#failure = reason;
      this.#note(call, reason.code);
      this.#givenUp.push({ step: call.step, code: reason.code, failedAttempts });
    }
  }

  /** Why no call is left: a breaker, if one of them may yet be made, else the last failure. */
  get ending(): ThriceError | OpenBreaker {
    return this.#blocker ?? this.#failure ?? givenUpBefore(this.#insteadOf);
  }

  #note({ request }: StepCall, code: PassedOver['code']): void {
    this.#insteadOf.push({ model: modelRefOf(request), code });
  }
}

function givenUpBefore(passedOver: readonly PassedOver[]): ThriceError {
  const { model, code = 'invariant-violated' } = passedOver.at(-1) ?? {};
  return new ThriceError({
    code,
    message: `an earlier delivery gave up on ${model ?? 'every call'}`,
  });
}
