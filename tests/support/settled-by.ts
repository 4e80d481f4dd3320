/** Turns of the event loop: enough for every promise that waits for nothing outside. */
const TURNS = 5;

/** Whether a promise settles without anything else happening. */
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
