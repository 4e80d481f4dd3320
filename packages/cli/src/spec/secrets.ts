import { type Benchmark, type BenchmarkSpec, invalidSpec } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';

/** What names the secrets of a benchmark. */
interface SecretNames {
  readonly benchmark: Pick<Benchmark, 'lanes'>;
  readonly spec: Pick<BenchmarkSpec, 'notify'>;
}

/** Shorter values are placeholders, such as EMPTY, or words that a spec may well have. */
const MIN_SECRET_CHARS = 16;
/** Keys as vendors write them, and the credentials in addresses. */
const LOOKS_SECRET =
  /\b(?:(?:sk|rk|pk|gsk|xai|hf|whsec)[-_]|AIza)(?=[\w-]{0,300}\d)[\w-]{20,}|(?<=:\/\/)[^/@\s]{1,300}(?=@)/g;

/**
 * The command line as it is stored in a group: without the keys that somebody pasted into it.
 *
 * The values of the variables that the benchmark names are known; of other keys, what looks like one is cut.
 */
export function commandLineWithoutSecrets(terminal: Terminal, names: SecretNames): string[] {
  const secrets = secretsOf(names, terminal);
  return terminal.commandLine.map((argument) =>
    secrets
      .reduce((kept, { value }) => kept.replaceAll(value, '[key]'), argument)
      .replaceAll(LOOKS_SECRET, '[key]'),
  );
}

/**
 * Refuses a spec or a label with the value of a variable that should be named only: both are stored.
 *
 * @throws {ThriceError} `invalid-spec`.
 */
export function refuseSecrets(
  names: SecretNames,
  {
    file,
    stored,
    terminal,
  }: { readonly file: string; readonly stored: unknown; readonly terminal: Terminal },
): void {
  const text = JSON.stringify(stored);
  // As JSON has it: a key may have a quotation mark or a backslash.
  const found = secretsOf(names, terminal).filter(({ value }) =>
    text.includes(JSON.stringify(value).slice(1, -1)),
  );
  if (found.length === 0) return;
  throw invalidSpec(
    file,
    found.map(
      ({ name }) =>
        `expected no key, received the value of ${name}, which would be stored; take it out of the spec, its prompts and the label`,
    ),
  );
}

function secretsOf(
  { benchmark, spec }: SecretNames,
  { environment }: Terminal,
): readonly { readonly name: string; readonly value: string }[] {
  const lanes = [...benchmark.lanes.values()].map(({ apiKeyEnv }) => apiKeyEnv);
  return [...new Set([...lanes, spec.notify?.webhook_env, spec.notify?.secret_env])].flatMap(
    (name) => {
      const value = name === undefined ? '' : (environment[name]?.trim() ?? '');
      return name === undefined || value.length < MIN_SECRET_CHARS ? [] : [{ name, value }];
    },
  );
}
