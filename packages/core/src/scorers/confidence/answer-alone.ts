import type { Config } from '../../domain/benchmark.ts';
import type { CellResult, CellRow, RecordedAnswer } from '../../domain/cell.ts';
import { readRatio } from './read-ratio.ts';
import { readStatedAnswer } from './read-stated-answer.ts';

/** What scorers and solvers read of a recorded answer: the answer without the confidence that the config asks for beside it. */
export function answerAlone<Answer extends Pick<RecordedAnswer, 'output'>>(
  { parser }: Pick<Config, 'parser'>,
  recorded: Answer,
): Answer {
  const { output } = recorded;
  if (parser === undefined || output === null) return recorded;
  return { ...recorded, output: readStatedAnswer(output, parser).answer };
}

/** The confidence of a row, with the reason if a cell was answered without one that can be read. */
type RowConfidence = Pick<CellRow, 'confidence' | 'confidenceReason'>;

/**
 * Reads how sure an answer says it is.
 *
 * @param answered - Of a judged answer, `confidence` is what its judge found it to state; it counts where the answer
 *   itself gives none that can be read.
 */
export function confidenceOf(
  { parser }: Pick<Config, 'parser'>,
  {
    outcome,
    output,
    confidence: judged = null,
  }: Pick<CellResult, 'outcome' | 'output' | 'confidence'>,
): RowConfidence {
  if (parser === undefined || outcome === 'failed' || outcome === 'not-attempted')
    return { confidence: null };
  const stated =
    output === null ? readRatio(null, 'ratio') : readStatedAnswer(output, parser).stated;
  return stated.confidence === null && judged !== null ? { confidence: judged } : stated;
}
