import type { Benchmark, Config, ModelRequest, ModelResponse, ScorerSpec } from '@thrice/core';
import { gradeConfigOf } from '../../packages/core/src/spec/resolve-judges.ts';
import { aBenchmark, aConfig, aLane, aModelResponse, anOutput } from './builders.ts';

/** A judge on the lane `court`. */
export const judgeScorer: ScorerSpec = { kind: 'judge', model: 'court/judge' };

/** A benchmark with one config, `direct`, whose answers a scorer has judged in its first grading. */
export function aJudgedBenchmark(
  scorer: ScorerSpec = judgeScorer,
  parts: Partial<Benchmark> = {},
): Benchmark {
  const answering = aConfig({ scorer });
  const gradedBy = gradeConfigOf(answering, { scorer, grading: 1 });
  const judgedBy = gradedBy && [gradedBy];
  const config: Config = { ...answering, gradedBy, judgedBy };
  const lanes = new Map(
    ['lab', 'court'].map((name) => [name, aLane({ name, servedModel: 'allow' })]),
  );
  const gradeConfigs = gradedBy === undefined ? [] : [gradedBy];
  return aBenchmark({ configs: [config], gradeConfigs, lanes, ...parts });
}

/** A response with this text. */
export function says(text: string): ModelResponse {
  return aModelResponse({ output: anOutput({ text }) });
}

/** Whether a request is one to a judge. */
export function isToJudge({ lane }: ModelRequest): boolean {
  return lane.name === 'court';
}

/** What a judge says in the form that it is asked for. */
export function aVerdict(isCorrect: boolean, extracted = 'None'): string {
  return [
    `extracted_answer: ${extracted}`,
    'reasoning: compared',
    `correct: ${isCorrect ? 'yes' : 'no'}`,
    'confidence: None',
  ].join('\n');
}
