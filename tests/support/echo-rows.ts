/** A line of an Echo file, as Python writes it, without its newline. */
export function anEchoLine({
  task = 'bbh/snarks/0',
  arm = 'haiku-only',
  passed = true,
  detail = passed ? 'passed' : 'expected A got B',
  seconds = '7.25',
  calls = 1,
}: {
  readonly task?: string;
  readonly arm?: string;
  readonly passed?: boolean;
  readonly detail?: string;
  /** As Python prints them. */
  readonly seconds?: string;
  readonly calls?: number;
} = {}): string {
  const benchmark = task.startsWith('bbh/') ? ', "benchmark": "bbh"' : '';
  return `{"task_id": "${task}", "arm": "${arm}", "passed": ${passed}, "detail": ${JSON.stringify(detail)}, "wall_seconds": ${seconds}, "sub_calls": ${calls}${benchmark}}`;
}

/** The first line of an Echo file over two items of a subtask, without its newline. */
export function anEchoMeta({
  subtasks = ['snarks'],
  count = 2,
  start = 0,
  arms = ['haiku-only', 'sonnet-only'],
}: {
  readonly subtasks?: readonly string[];
  readonly count?: number;
  readonly start?: number;
  readonly arms?: readonly string[];
} = {}): string {
  const list = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');
  return `{"_meta": true, "benchmark": "bbh", "subtasks": [${list(subtasks)}], "n_per_subtask": ${count}, "start": ${start}, "arms": [${list(arms)}]}`;
}

/** The text of a file with these lines, each with its newline. */
export function linesOf(...lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
