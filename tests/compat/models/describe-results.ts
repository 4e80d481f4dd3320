import type { TrialResult } from './trial.ts';

/** Problems of a trial that are printed, and how much of each. */
const SHOWN_PROBLEMS = 5;
const PROBLEM_CHARS = 600;
/** The last lines of the command's output, printed with the problems. */
const SHOWN_LINES = 5;

const columns: readonly (readonly [string, (result: TrialResult) => string | number])[] = [
  ['server', ({ server }) => server],
  ['version', ({ version }) => version],
  ['mode', ({ mode }) => mode],
  ['cells', ({ cells }) => cells],
  ['scored', ({ outcomes }) => outcomes.get('scored') ?? 0],
  ['unparsed', ({ outcomes }) => outcomes.get('unparsed') ?? 0],
  ['failed', ({ outcomes }) => outcomes.get('failed') ?? 0],
  ['not attempted', ({ outcomes }) => outcomes.get('not-attempted') ?? 0],
  ['requests', ({ requests }) => requests],
  ['answers with usage', ({ usages }) => usages],
  [
    'failed attempts by class',
    ({ attempts }) => [...attempts].map(([name, count]) => `${name} ${count}`).join(', ') || '–',
  ],
  ['wrong classes', ({ wrongClasses }) => wrongClasses],
  ['lost', ({ lost }) => lost],
  ['other problems', ({ problems, wrongClasses }) => problems.length - wrongClasses],
  ['exit', ({ exitCode }) => exitCode ?? 'none'],
];

/** A table with a row per trial, in Markdown. */
export function describeTable(results: readonly TrialResult[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(([name]) => name)),
    line(columns.map(() => '---')),
    ...results.map((result) => line(columns.map(([, show]) => show(result)))),
  ].join('\n');
}

/** What is wrong with a trial, or that nothing is. */
export function describeProblems({ server, mode, problems, stderr }: TrialResult): string {
  if (problems.length === 0) return `${server}, ${mode}: as expected`;
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  const texts = shown.map((problem) => problem.replaceAll('\n', ' ').slice(0, PROBLEM_CHARS));
  const more = problems.length - shown.length;
  return [
    `${server}, ${mode}: ${problems.length} problems`,
    ...texts,
    ...(more > 0 ? [`and ${more} more`] : []),
    ...stderr.trim().split('\n').slice(-SHOWN_LINES),
  ].join('\n  ');
}
