import { it } from 'vitest';
import { surviveKills } from '../support/killed-runs.ts';

it('a run of 2,000 cells ends with the records of an undisturbed one after 23 kills', async () => {
  await surviveKills({ questionCount: 1_000, killCount: 20 });
});
