import { createScorerRegistry, type ScorerRegistry } from '../domain/scorer.ts';
import { bbh } from './bbh.ts';
import { choice } from './choice.ts';
import { exact } from './exact.ts';
import { includes } from './includes.ts';
import { judge } from './judge.ts';
import { keyword } from './keyword.ts';
import { numeric } from './numeric.ts';
import { regex } from './regex.ts';
import { rubric } from './rubric.ts';

/** The built-in scorers. To add one: write its file, list it here and in `docs/formats/scorers.md`. */
export const scorerRegistry: ScorerRegistry = createScorerRegistry([
  exact,
  choice,
  includes,
  bbh,
  numeric,
  regex,
  keyword,
  judge,
  rubric,
]);

/** The versions of the built-in scorers by kind, as manifests record them. */
export const scorerVersions: Readonly<Record<string, number>> = Object.fromEntries(
  [...scorerRegistry.values()].map(({ kind, version }) => [kind, version]),
);
