import type { AwsRequest, Cloud } from '@thrice/local-cloud';

/** Kills the plan function of each labelled group once, right after so many of its calls are entered. */
export class PlanKiller {
  functions: Cloud['functions'] | undefined;
  readonly #counts = new Map<string, number>();
  readonly #killAt: Readonly<Record<string, number>>;
  readonly #dead = new Set<string>();
  readonly #killed: string[] = [];

  constructor(killAt: Readonly<Record<string, number>>) {
    this.#killAt = killAt;
  }

  /** The kills, as `label count`. */
  get killed(): readonly string[] {
    return this.#killed.toSorted();
  }

  /** Whether a request is from a function that was killed. */
  hasKilled({ environmentId = '' }: AwsRequest): boolean {
    return this.#dead.has(environmentId);
  }

  /** Kills the function whose request was just served, if it is its turn. */
  kill(request: AwsRequest): boolean {
    const { environmentId = '' } = request;
    const label = enteredFor(request);
    if (label === undefined || !environmentId.startsWith('Plan-')) return false;
    const count = (this.#counts.get(label) ?? 0) + 1;
    this.#counts.set(label, count);
    if (count !== this.#killAt[label]) return false;
    this.#dead.add(environmentId);
    this.#killed.push(`${label} ${count}`);
    this.functions?.get('Plan')?.kill(environmentId);
    return true;
  }
}

/** The label of the group that a request enters a call for; undefined for any other request. */
function enteredFor({ operation, input }: AwsRequest): string | undefined {
  if (operation !== 'PutItem') return undefined;
  return /"cache#([a-z]+)-/.exec(JSON.stringify(input))?.[1];
}
