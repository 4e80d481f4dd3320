import { loadGroup, type ScorerSpec } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { describeJudging } from '../../../packages/cli/src/spec/choose-judges.ts';
import { aGroupHeader, aPlannedConfig } from '../../support/builders.ts';

const choices = { kind: 'choice' };
const chosen = (judged: ScorerSpec): ScorerSpec => ({
  kind: 'by',
  by: 'answer_type',
  scorers: { multipleChoice: choices },
  otherwise: judged,
});

/** A group whose scorer has a judge for some of the questions. */
function aGroup() {
  const base_url = 'http://127.0.0.1:1800/v1';
  const scorers = {
    graders: { kind: 'judge', model: 'court/judge' },
    mixed: {
      kind: 'by',
      by: 'answer_type',
      scorers: { multipleChoice: 'choice' },
      otherwise: 'graders',
    },
  };
  const { spec } = aGroupHeader();
  const header = aGroupHeader({
    spec: { ...spec, lanes: { lab: { base_url }, court: { base_url } }, scorers },
    configs: [aPlannedConfig({ scorer: chosen(scorers.graders) })],
  });
  return loadGroup({ header, state: 'active', isPlanned: true });
}

describe('whom a group is judged by', () => {
  it.each([
    ['another model', { model: 'court/other' }, { kind: 'judge', model: 'court/other' }],
    ['more replicates', { replicates: 3 }, { kind: 'judge', model: 'court/judge', replicates: 3 }],
    ['a scorer of the spec', { scorer: 'mixed' }, { kind: 'judge', model: 'court/judge' }],
  ])(
    'is %s for the questions of its judge alone, where its scorer chooses',
    (_, choice, judged) => {
      const { configs, scorers } = describeJudging(aGroup(), choice);

      expect(configs).toEqual(['direct']);
      expect(scorers.scorers.get('direct')).toEqual(chosen(judged));
    },
  );
});
