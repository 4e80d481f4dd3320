import { describe } from 'vitest';
import {
  judgingChanges,
  judgingStage,
  specifyBadJudges,
  specifyBuying,
  specifyStageFaults,
} from '../support/judging.ts';
import { shareCloud } from '../support/shared-cloud.ts';

describe('60 judged cells in a stage', () => {
  const cloud = shareCloud({ changes: judgingChanges });
  specifyBuying(judgingStage(cloud), 60);
  specifyBadJudges(judgingStage(cloud), 60);
  specifyStageFaults(cloud, 60);
});
