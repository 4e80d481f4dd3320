/** Signals with which the user stops a running command. */
export interface StopSignals extends Disposable {
  /** Aborts on the first Ctrl-C: claim no more cells, finish the calls in flight. */
  readonly drain: AbortSignal;
  /** Aborts on the second Ctrl-C: abort the calls in flight too. */
  readonly stop: AbortSignal;
}

/** Listens for SIGINT, SIGTERM and SIGHUP until disposed. */
export function listenForStop(): StopSignals {
  const drain = new AbortController();
  const stop = new AbortController();
  const onSignal = () => {
    if (drain.signal.aborted) stop.abort();
    else drain.abort();
  };
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of names) process.on(name, onSignal);
  return {
    drain: drain.signal,
    stop: stop.signal,
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
