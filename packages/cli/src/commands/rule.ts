import { ruledAsSchema, ruledClasses, suggestName, ThriceError } from '@thrice/core';
import type { EngineOptions } from '../engine/engine.ts';
import { printSummary } from '../render/print-summary.ts';
import { reportUnscored } from '../render/report-unscored.ts';
import type { ExitCode } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';
import { regradeGroup } from './rescore.ts';

/** Options of `thrice rule`. */
export interface RuleOptions extends EngineOptions {
  readonly class: string;
  readonly as: string;
  readonly why: string;
  readonly json?: boolean;
}

/** `thrice rule`: counts the cells of an error class in a stated way; the figures before are kept beside. */
export async function ruleCells(
  terminal: Terminal,
  name: string,
  options: RuleOptions,
): Promise<ExitCode> {
  const ruling = parseRuling(options);
  const ruled = await regradeGroup(terminal, name, options, async () => ({ ruling }));
  const { header, regrading, summary, place } = ruled;
  const { number } = regrading.grading;
  const { group } = header;
  if (options.json === true)
    terminal.print(JSON.stringify({ group, ...regrading, summary }, null, 2));
  else printSummary(summary, terminal);
  terminal.error(
    regrading.isNew
      ? `${ruling.class} counts as ${ruling.as} from now on; the figures before are in ${place}/runs/${group}/gradings/${number - 1}`
      : `${ruling.class} counts as ${ruling.as} already, for the same reason; the files were written again`,
  );
  return reportUnscored(summary, { ...ruled, terminal });
}

function parseRuling({ class: name, as: way, why: text }: RuleOptions) {
  if (!ruledClasses.includes(name)) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `--class: expected the class or the code of an error, or why an answer has no grade, received "${name}"${suggestName(name, ruledClasses)}; docs/errors.md lists them`,
    });
  }
  const { data: as } = ruledAsSchema.safeParse(way);
  if (as === undefined) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `--as: expected wrong, excluded or missing, received "${way}"`,
    });
  }
  const why = text.trim();
  if (why === '') {
    throw new ThriceError({
      code: 'invalid-argument',
      message: '--why: expected why these cells count so, received nothing',
    });
  }
  return { class: name, as, why };
}
