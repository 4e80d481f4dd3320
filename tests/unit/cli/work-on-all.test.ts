import {
  type GroupRecord,
  limits,
  type OpenBreaker,
  ThriceError,
  type UnreadableGroup,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { workOnAll } from '../../../packages/cli/src/local/work-on-all.ts';
import { type ExitCode, exitCodes } from '../../../packages/cli/src/shell/exit-codes.ts';
import { aGroupHeader, anEditedHeader, anOpenBreaker } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MINUTE_MS = 60_000;

function aRecord(group: string, parts: Partial<GroupRecord> = {}): GroupRecord {
  return { header: aGroupHeader({ group }), state: 'active', isPlanned: true, ...parts };
}

/** Work on a store whose groups end when the test says so. */
function startWork(records: readonly GroupRecord[]) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const groups = [...records];
  const left = new Set(records.map(({ header }) => header.group));
  const breakers: OpenBreaker[] = [];
  const unreadable = new Set<string>();
  const started: string[] = [];
  const reports: string[] = [];
  const wait = new Map<string, (areAllWaiting: boolean) => void>();
  const endings = new Map<string, PromiseWithResolvers<ExitCode>>();
  const problems: Error[] = [];
  const damaged: UnreadableGroup[] = [];
  const working = workOnAll({
    store: {
      listGroups: async (onUnreadable) => {
        for (const problem of problems) throw problem;
        for (const group of damaged) onUnreadable(group);
        return groups.toReversed();
      },
      isLeft: async ({ header: { group } }) => {
        if (group === 'broken') throw new Error('broken queue');
        return left.has(group);
      },
      breakersOf: async ({ header: { group } }) => {
        if (unreadable.has(group)) throw new Error('unreadable breakers');
        return breakers;
      },
    },
    clock,
    workOn: (record, onWaiting) => {
      const { group } = record.header;
      const ending = Promise.withResolvers<ExitCode>();
      started.push(group);
      wait.set(group, onWaiting);
      endings.set(group, ending);
      return ending.promise;
    },
    report: (group, event) => reports.push(`${group}: ${event}`),
    describeError: (error) => String(error),
    drainSignal: stop.signal,
  });
  return {
    groups,
    left,
    breakers,
    problems,
    damaged,
    unreadable,
    started,
    reports,
    stop,
    working,
    /** Lets so much time pass, with everything that is due. */
    pass: async (ms: number) => {
      for (let passedMs = 0; passedMs < ms; passedMs += 2_000) {
        clock.advance(2_000);
        await new Promise(setImmediate);
      }
    },
    setWaiting: (group: string, areAllWaiting: boolean) => wait.get(group)?.(areAllWaiting),
    end: async (group: string, exitCode: ExitCode) => {
      const isPaused = exitCode === exitCodes.paused || exitCode === exitCodes.pausedAtBudget;
      if (!isPaused) left.delete(group);
      endings.get(group)?.resolve(exitCode);
      await new Promise(setImmediate);
    },
    fail: async (group: string, error: Error) => {
      endings.get(group)?.reject(error);
      await new Promise(setImmediate);
    },
  };
}

describe('work on all groups', () => {
  it('works on one group after the other, oldest first, and on those that are created meanwhile', async () => {
    const work = startWork([aRecord('old'), aRecord('new')]);

    await work.pass(MINUTE_MS);
    const first = [...work.started];
    await work.end('old', exitCodes.complete);
    await work.pass(MINUTE_MS);
    work.groups.push(aRecord('newest'));
    work.left.add('newest');
    await work.end('new', exitCodes.withoutScore);
    await work.pass(MINUTE_MS);

    expect(first).toEqual(['old']);
    expect(work.started).toEqual(['old', 'new', 'newest']);
    expect(work.reports).toEqual([
      'old: working',
      'old: complete',
      'new: working',
      'new: finished; some cells have no score',
      'newest: working',
    ]);
  });

  it('leaves out groups that are cancelled, being deleted or done', async () => {
    const work = startWork([
      aRecord('cancelled', { state: 'cancelled' }),
      aRecord('deleting', { state: 'deleting' }),
      aRecord('done'),
    ]);
    work.left.delete('done');

    await work.pass(MINUTE_MS);

    expect(work.started).toEqual([]);
  });

  it('begins the next group only while everything that is left of the others waits', async () => {
    const work = startWork([aRecord('a'), aRecord('b'), aRecord('c')]);

    await work.pass(MINUTE_MS);
    work.setWaiting('a', true);
    await work.pass(MINUTE_MS);
    work.setWaiting('a', false);
    work.setWaiting('b', true);
    await work.pass(MINUTE_MS);

    expect(work.started).toEqual(['a', 'b']);
  });

  it('sets aside a group of which it cannot tell what is left, and works on the others', async () => {
    const work = startWork([aRecord('broken'), aRecord('sound')]);

    await work.pass(MINUTE_MS);

    expect(work.started).toEqual(['sound']);
    expect(work.reports).toEqual(['broken: Error: broken queue', 'sound: working']);
  });

  it('says once that the store cannot be read, and works on it once it can', async () => {
    const work = startWork([aRecord('a')]);

    work.problems.push(new Error('locked'));
    await work.pass(MINUTE_MS);
    work.problems.pop();
    await work.pass(MINUTE_MS);

    expect(work.reports).toEqual(['store: Error: locked', 'a: working']);
  });

  it('says once of each group that it cannot be read, and works on the others', async () => {
    const work = startWork([aRecord('sound')]);
    const error = new ThriceError({ code: 'store-unusable', message: 'group torn: invalid JSON' });

    work.damaged.push({ group: 'torn', createdAt: '2026-01-01T00:00:00.000Z', error });
    await work.pass(MINUTE_MS);
    work.setWaiting('sound', true);
    await work.pass(MINUTE_MS);
    work.damaged.pop();
    await work.pass(MINUTE_MS);
    work.damaged.push({ group: 'torn', createdAt: '2026-01-01T00:00:00.000Z', error });
    await work.pass(MINUTE_MS);

    const report = `torn: ${String(error)}`;
    expect(work.reports).toEqual([report, 'sound: working', report]);
  });

  it('works on the others while the breakers of a group that is set aside cannot be read', async () => {
    const work = startWork([aRecord('paused'), aRecord('sound')]);

    await work.pass(MINUTE_MS);
    await work.end('paused', exitCodes.paused);
    work.unreadable.add('paused');
    await work.pass(MINUTE_MS);

    expect(work.started).toEqual(['paused', 'sound']);
    expect(work.reports).toContain('paused: Error: unreadable breakers');
  });

  it('leaves a group to the command that has just created it', async () => {
    const work = startWork([aRecord('a')]);

    await new Promise(setImmediate);
    work.left.delete('a');
    await work.pass(MINUTE_MS);

    expect(work.started).toEqual([]);
  });

  it('takes a paused group up again once its breakers have changed', async () => {
    const work = startWork([aRecord('a')]);
    const error = { class: 'misconfigured', code: 'auth-failed', message: '401' } as const;

    await work.pass(MINUTE_MS);
    work.breakers.push(anOpenBreaker({ error }));
    await work.end('a', exitCodes.paused);
    await work.pass(2 * limits.quotaBackoffCapMs);
    const whileOpen = work.started.length;
    work.breakers.pop();
    await work.pass(MINUTE_MS);

    expect(whileOpen).toBe(1);
    expect(work.started).toEqual(['a', 'a']);
  });

  it('takes a group that its budget has stopped up again once its plan is edited', async () => {
    const record = aRecord('a');
    const work = startWork([record]);

    await work.pass(MINUTE_MS);
    await work.end('a', exitCodes.pausedAtBudget);
    await work.pass(2 * limits.quotaBackoffCapMs);
    const beforeEdit = work.started.length;
    work.groups[0] = { ...record, header: anEditedHeader({ group: 'a' }) };
    await work.pass(MINUTE_MS);

    expect(beforeEdit).toBe(1);
    expect(work.started).toEqual(['a', 'a']);
    expect(work.reports).toContain('a: paused at its budget; set aside until that is raised');
  });

  it('takes a group that failed up again after half an hour, and works on the others meanwhile', async () => {
    const work = startWork([aRecord('a'), aRecord('b')]);

    await work.pass(MINUTE_MS);
    await work.fail('a', new Error('disk full'));
    await work.pass(MINUTE_MS);
    await work.end('b', exitCodes.complete);
    await work.pass(limits.quotaBackoffCapMs);

    expect(work.started).toEqual(['a', 'b', 'a']);
    expect(work.reports).toContain('a: Error: disk full');
  });

  it('ends when it is stopped and the groups at work have ended', async () => {
    const work = startWork([aRecord('a')]);
    let hasEnded = false;
    void work.working.then(() => {
      hasEnded = true;
    });

    await work.pass(MINUTE_MS);
    work.stop.abort();
    await new Promise(setImmediate);
    const endedWithWork = hasEnded;
    await work.end('a', exitCodes.interrupted);
    await work.working;

    expect(endedWithWork).toBe(false);
  });
});
