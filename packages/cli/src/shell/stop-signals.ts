/** How the user asks a working command to stop. */
export interface StopSignals extends Disposable {
  /** After the first Ctrl-C: take no more cells, finish those in flight. */
  readonly drain: AbortSignal;
  /** After the second: end the calls in flight too. */
  readonly stop: AbortSignal;
}

/** Listens for Ctrl-C and its kin until disposed of. */
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
