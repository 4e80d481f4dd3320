/** Turns of the event loop, enough for every promise that does not wait for I/O or a timer. */
const TURNS = 5;

/** Whether a promise settles without any external event. */
export async function settledBy(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const note = () => {
    isSettled = true;
  };
  promise.then(note, note);
  for (let turn = 0; turn < TURNS; turn += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
  return isSettled;
}
