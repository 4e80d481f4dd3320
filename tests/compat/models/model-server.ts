import type { KnownFault } from './expected-reading.ts';

/**
 * How the questions are asked: as they should be, with or without a stream, or with a key or a model that the server
 * does not know, which blocks the lane or the model at once.
 */
export type Mode = 'plain' | 'streamed' | 'wrong key' | 'unknown model';

/** A question of a trial. */
export interface TrialQuestion {
  readonly id: string;
  readonly text: string;
}

/** What a server is started with. */
export interface TrialSetup {
  readonly questions: readonly TrialQuestion[];
  /** For its files; deleted after the trial. */
  readonly folder: string;
}

/** A server that answers chat completions. */
export interface RunningModelServer extends AsyncDisposable {
  readonly port: number;
  /** How many chat completions it says it was asked for. */
  countRequests(): Promise<number>;
}

/** A third-party server that Thrice is tried against. */
export interface ModelServer {
  readonly name: string;
  readonly version: string;
  /** The models that are asked, each all questions. */
  readonly models: readonly string[];
  /** The faults that the server is told to inject, as far as their status does not say what they are. */
  readonly faults: readonly KnownFault[];
  readonly timeoutSeconds: number;
  /** The key that it asks for; undefined if it takes any. */
  readonly apiKey?: string;
  /** Whether it refuses a model that it does not serve. */
  readonly refusesModels?: boolean;
  readonly maxTokens?: number;
  /** @default every text is short */
  readonly isLong?: (index: number) => boolean;
  install(): Promise<unknown>;
  start(setup: TrialSetup): Promise<RunningModelServer>;
}
