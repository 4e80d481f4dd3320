import { type Governor, type Slot, ThriceError } from '@thrice/core';

/** Grants every slot immediately and counts the slots in use. Without `retryAfterMs` a lane waits 250 ms. */
export class FakeGovernor implements Governor {
  /** Lanes of the slots granted so far. */
  readonly granted: string[] = [];
  inUseCount = 0;
  /** Lanes that were told to slow down. */
  readonly slowed: string[] = [];
  /** Runs while a caller waits for a slot. */
  onGrant: () => void = () => undefined;
  /** Runs when a slot is released. */
  onReturn: () => void = () => undefined;

  slowDown(lane: string, retryAfterMs: number | undefined): number {
    this.slowed.push(lane);
    return retryAfterMs ?? 250;
  }

  answered(): void {
    this.slowed.length = 0;
  }

  async grant(lane: string, signal: AbortSignal): Promise<Slot> {
    this.onGrant();
    if (signal.aborted) throw new ThriceError({ code: 'interrupted', message: 'stopped' });
    this.granted.push(lane);
    this.inUseCount += 1;
    return {
      waitMs: 0,
      [Symbol.dispose]: () => {
        this.inUseCount -= 1;
        this.onReturn();
      },
    };
  }
}
