import { describe } from 'vitest';
import {
  here,
  judgingChanges,
  judgingStage,
  specifyBadJudges,
  specifyBuying,
  specifyKills,
  specifyStageFaults,
} from '../support/judging.ts';
import { shareCloud } from '../support/shared-cloud.ts';

describe('60 judged cells on one machine', () => {
  specifyBuying(here, 60);
  specifyBadJudges(here, 60);
  specifyKills(60);
});

// As many as on one machine in `tests/long`.
describe('12 judged cells in a stage', () => {
  const cloud = shareCloud({ changes: judgingChanges });
  specifyBadJudges(judgingStage(cloud), 12);
  specifyStageFaults(cloud, 12);
});
