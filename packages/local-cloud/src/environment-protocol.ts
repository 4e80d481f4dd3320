/** An event to answer. */
export interface ToEnvironment {
  readonly requestId: string;
  readonly event: unknown;
  readonly functionArn: string;
  /** Time until the environment is killed, ms. */
  readonly remainingMs: number;
}

/** What an execution environment tells: that it has loaded, and how each event ended. */
export type FromEnvironment =
  | { readonly type: 'ready' }
  | { readonly type: 'answered'; readonly requestId: string; readonly payload: string }
  | {
      readonly type: 'failed';
      /** Absent when it could not load. */
      readonly requestId?: string;
      readonly errorType: string;
      readonly errorMessage: string;
    };
