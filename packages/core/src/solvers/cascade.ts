import type { JournalEntry } from '../domain/call.ts';
import { assertNever } from '../errors.ts';
import type { Solver, SolverInput, SolverMove } from '../ports/solver.ts';
import { codeOf } from './code-of.ts';
import { membersOf } from './members-of.ts';
import { answerOf, callOf, withoutRole } from './request-of.ts';

const JUDGE = 'judge';
const ESCALATION = 'escalation';

type Entries = readonly [JournalEntry, ...JournalEntry[]];

/**
 * Asks cheap members, and a stronger model where their answers do not agree. Where they do, the first member's answer
 * counts.
 *
 * An escalation that is recorded is the answer, also if a scorer would now find that the members agree.
 */
export const cascadeSolver: Solver = {
  kind: 'cascade',
  next: async (input) => {
    const members = membersOf(input);
    if (members.kind === 'missing') return members.move;
    const escalated = input.journal.get(ESCALATION);
    if (escalated !== undefined) return answerOf(escalated);
    if (input.config.combination.agreement === 'judge' && !input.journal.has(JUDGE)) {
      return callJudge(members.entries, input);
    }
    const accepted = await acceptedOf(members.entries, input);
    return accepted === undefined ? escalate(input) : answerOf(accepted);
  },
};

function callJudge(entries: Entries, { config, answers, renderJudge }: SolverInput): SolverMove {
  const judge = config.roles.find(({ step }) => step === JUDGE);
  if (judge === undefined) throw withoutRole(config.solver, JUDGE);
  const texts = entries.map((entry) => answers.textOf(entry));
  return { kind: 'call', ...callOf(judge, renderJudge(judge, texts)) };
}

function escalate({ config, render }: SolverInput): SolverMove {
  const role = config.roles.find(({ step }) => step === ESCALATION);
  if (role === undefined) throw withoutRole(config.solver, ESCALATION);
  return { kind: 'call', ...callOf(role, render(role)) };
}

/** The member whose answer counts; undefined if the question has to be escalated. */
async function acceptedOf(entries: Entries, input: SolverInput): Promise<JournalEntry | undefined> {
  if (input.config.combination.agreement !== 'oracle') {
    return (await doAgree(entries, input)) ? entries[0] : undefined;
  }
  for (const entry of entries) if (await input.answers.isCorrect(entry)) return entry;
  return undefined;
}

async function doAgree(
  entries: Entries,
  { config, journal, answers }: SolverInput,
): Promise<boolean> {
  const { agreement } = config.combination;
  const texts = entries.map((entry) => answers.textOf(entry));
  switch (agreement) {
    case 'text':
      return areEqual(texts.map(collapse));
    case 'scorer': {
      const read = await Promise.all(entries.map(async (entry) => await answers.read(entry)));
      return areEqual(read.includes(undefined) ? texts.map(collapse) : read);
    }
    case 'code':
      return areEqual(texts.map(codeOf));
    case 'judge': {
      const reply = journal.get(JUDGE);
      return reply !== undefined && saysYes(answers.textOf(reply));
    }
    case 'oracle':
      return false;
    default:
      return assertNever(agreement);
  }
}

function saysYes(reply: string): boolean {
  return reply.trim().toUpperCase().startsWith('YES');
}

function collapse(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

function areEqual(values: readonly unknown[]): boolean {
  return values.every((value) => value === values[0]);
}
