/** Where a verdict belongs: which judge, from 0, and of which criterion, from 0, where each has one of its own. */
export interface JudgePlace {
  readonly judge: number;
  readonly criterion: number | undefined;
}

/** The step of a verdict in its grade cell: `judge-1`, or `judge-1-criterion-2`. */
export function judgeStep(judge: number, criterion?: number): string {
  const step = `judge-${judge + 1}`;
  return criterion === undefined ? step : `${step}-criterion-${criterion + 1}`;
}

/** Reads the step of a verdict; undefined for any other step. */
export function parseJudgeStep(step: string): JudgePlace | undefined {
  const [, judge, criterion] = /^judge-(\d+)(?:-criterion-(\d+))?$/.exec(step) ?? [];
  if (judge === undefined) return undefined;
  return {
    judge: Number(judge) - 1,
    criterion: criterion === undefined ? undefined : Number(criterion) - 1,
  };
}
