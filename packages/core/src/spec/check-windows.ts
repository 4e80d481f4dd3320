import { type Benchmark, type Config, isJudge, type Role } from '../domain/benchmark.ts';
import { modelRefOf } from '../domain/breaker.ts';
import { type ContextWindow, contextWindowOf } from './context-windows.ts';
import { showConfig } from './describe-issues.ts';
import type { PlanProblem } from './plan-problem.ts';
import type { LongestPrompt } from './questions/check-config.ts';
import type { CheckedQuestions } from './questions/check-questions.ts';

/** Characters of a token, as a rule of thumb for English text. */
const CHARS_PER_TOKEN = 4;
/** A prompt that is estimated at so many times a context window does not fit, however rough the estimate. */
const FAR_OVER = 2;

/**
 * Checks the longest prompts of all configs against context windows that their servers state.
 *
 * @param windows - By `lane/model`.
 */
export function checkListedWindows(
  { configs }: Pick<Benchmark, 'configs'>,
  checked: Pick<CheckedQuestions, 'longestPrompts'>,
  windows: ReadonlyMap<string, ContextWindow>,
): readonly PlanProblem[] {
  return configs.flatMap((config, index) =>
    windowProblems(config, index, checked, (role) => windows.get(modelRefOf(role))),
  );
}

/** Checks the longest prompt of a config against the context windows of the models that are asked it. */
export function windowProblems(
  { name, roles }: Config,
  index: number,
  { longestPrompts }: Pick<CheckedQuestions, 'longestPrompts'>,
  windowOf: (role: Role) => ContextWindow | undefined = ({ model }) => contextWindowOf(model),
): readonly PlanProblem[] {
  const longest = longestPrompts.get(name);
  if (longest === undefined) return [];
  // A judge is asked about answers, whose length nobody knows yet.
  const asked = roles.filter((role) => !isJudge(role));
  const place = showConfig(name, index);
  const byModel = new Map(asked.map((role) => [modelRefOf(role), role]));
  return [...byModel.values()].flatMap((role) =>
    windowProblem({ model: role.model, window: windowOf(role), place, longest }),
  );
}

function windowProblem({
  model,
  window,
  place,
  longest,
}: {
  readonly model: string;
  readonly window: ContextWindow | undefined;
  /** That of the config. */
  readonly place: string;
  readonly longest: LongestPrompt;
}): readonly PlanProblem[] {
  if (window === undefined) return [];
  const tokens = Math.ceil(longest.chars / CHARS_PER_TOKEN);
  if (tokens <= window.tokens) return [];
  return [
    {
      severity: tokens > FAR_OVER * window.tokens ? 'error' : 'warning',
      code: 'long-prompt',
      message: `${place}.model: expected prompts within the ${window.tokens} tokens of "${model}" (${window.source}), received one of about ${tokens} (an estimate: ${longest.chars} characters, ${CHARS_PER_TOKEN} a token) for question "${longest.id}"; shorten it, or leave such questions out with select`,
    },
  ];
}
