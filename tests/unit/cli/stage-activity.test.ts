import type { ResendNote } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { ConfigStatus } from '../../../packages/cli/src/engine/group-status.ts';
import { readStageActivity } from '../../../packages/cli/src/stage/stage-engine.ts';
import { aLanePace, aRateBelief, someTurns } from '../../support/builders.ts';
import { FakeLaneSlots } from '../../support/fake-lane-slots.ts';
import { FakeStage } from '../../support/fake-stage.ts';

const HOUR_MS = 3_600_000;

function aConfig(config: string, notAttempted: number): ConfigStatus {
  const counts = { scored: 4 - notAttempted, unparsed: 0, ungraded: 0, failed: 0, notAttempted };
  return {
    config,
    cells: 4,
    ...counts,
    correct: 0,
    costUsd: null,
    wasteUsd: null,
    overheadUsd: null,
    unpricedCalls: 0,
    retries: 0,
  };
}

function aNote(config: string, at: string): ResendNote {
  return { config, id: 'q1', count: 16, since: at, at, code: 'model-rate-limited' };
}

/** What the activity of a group is read from. */
function storesOf(
  { activeGroups, batches, budgets, resendNotes, clock, ledger }: FakeStage,
  laneSlots = new FakeLaneSlots(),
) {
  const { paces: lanePaces } = ledger;
  return { activeGroups, batches, budgets, resendNotes, clock, lanePaces, laneSlots };
}

async function readResends(notedMsAgo: number, left: number): Promise<readonly string[]> {
  const stage = new FakeStage();
  const header = await stage.enter({ configs: [{ name: 'a' }, { name: 'b' }] });
  const at = stage.clock.toIso(stage.clock.now() - notedMsAgo);
  await stage.resendNotes.note('demo', aNote('a', at));
  await stage.resendNotes.note('other', aNote('b', at));
  const configs = [aConfig('a', left), aConfig('b', 1)];
  const activity = await readStageActivity(storesOf(stage), { header, configs, openBreakers: [] });
  return activity.resends.map(({ config }) => config);
}

describe('the activity of a group in a stage', () => {
  it('shows the cells of the group that make no progress', async () => {
    expect(await readResends(0, 1)).toEqual(['a']);
  });

  it('leaves out what was noted more than two hours ago', async () => {
    expect(await readResends(2 * HOUR_MS, 1)).toEqual(['a']);
    expect(await readResends(2 * HOUR_MS + 1, 1)).toEqual([]);
  });

  it('leaves out a config that is done', async () => {
    expect(await readResends(0, 0)).toEqual([]);
  });

  it('has what is believed of the limits of its lanes, and how much of them is used', async () => {
    const stage = new FakeStage();
    const header = await stage.enter({ configs: [{ name: 'a' }] });
    const nowMs = stage.clock.now();
    const pace = aLanePace({
      requests: aRateBelief({ perMinute: 60, fellAtMs: nowMs + 1e9 }),
      stated: { requestsPerMinute: null, tokensPerMinute: 1_000 },
      groups: [someTurns({ baseAtMs: nowMs - 60_000, lastTurn: 31 })],
      heldUntilMs: 0,
      refusedSinceMs: null,
    });
    await stage.ledger.paces.replace(undefined, pace);
    const counts = { header, configs: [aConfig('a', 1)], openBreakers: [] };

    const { lanes } = await readStageActivity(storesOf(stage), counts);

    expect(lanes.map(({ limits }) => limits)).toEqual([
      {
        requestsPerMinute: { limit: 60, source: 'found', used: 30 },
        tokensPerMinute: { limit: 970, source: 'header', used: null },
        concurrency: { limit: null, source: null, used: null },
        held: null,
      },
    ]);
  });

  it('has the calls in flight of a lane whose spec limits them, as long as its groups call it', async () => {
    const stage = new FakeStage();
    const header = await stage.enter({ configs: [{ name: 'a' }] });
    const counts = { header, configs: [aConfig('a', 1)], openBreakers: [] };
    const slots = new FakeLaneSlots();
    const nowMs = stage.clock.now();
    const groups = [{ group: 'demo', maxConcurrency: 4 }];
    await slots.replace(undefined, { schemaVersion: 1, lane: 'lab', groups, token: 'a' }, nowMs);
    const bounds = { limit: 4, groupLimit: 4, served: undefined, unlessWaitedSinceMs: undefined };
    const times = { nowMs, untilMs: nowMs + 60_000 };
    await slots.take('lab', { id: 'one', place: 0, token: 'a', ...bounds, ...times });
    const readConcurrency = async () => {
      const { lanes } = await readStageActivity(storesOf(stage, slots), counts);
      return lanes.map(({ limits }) => limits?.concurrency);
    };

    const inUse = await readConcurrency();
    await slots.giveBack('lab', { id: 'one', place: 0 }, { nowMs, callMs: 100 });
    stage.clock.advance(10_000);

    expect(inUse).toEqual([{ limit: 4, source: 'spec', used: 1 }]);
    expect(await readConcurrency()).toEqual([undefined]);
  });
});
