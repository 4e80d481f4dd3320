import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sharedDataDir } from './shared-data.ts';

/** BIG-Bench Hard with its recorded answers. */
export const bbhFolder: string = join(sharedDataDir, 'bbh');

/** The published figures. */
export interface BbhExpectation {
  readonly n: Readonly<Record<string, number>>;
  /** Percent, by arm and subtask. */
  readonly published_accuracy: Readonly<Record<'direct' | 'cot', Readonly<Record<string, number>>>>;
  readonly recorded: { readonly cot: readonly string[] };
}

/** Reads the published figures. */
export async function readBbhExpectation(): Promise<BbhExpectation> {
  return JSON.parse(await readFile(join(bbhFolder, 'expected.json'), 'utf8')) as BbhExpectation;
}

/**
 * The spec that asks every recorded prompt byte for byte: configs `direct` and `cot`.
 *
 * @param url - The model server's base URL.
 * @param top - Further lines for the top of the spec.
 */
export function bbhToml(url: string, cotSubtasks: readonly string[], top = ''): string {
  return `name = "bbh"
questions = { dataset = "bbh", path = ${JSON.stringify(bbhFolder)} }
${top}
[lanes.codex]
base_url = "${url}"

[[configs]]
name = "direct"
model = "codex/code-davinci-002"
prompt = "{{metadata.direct}}\\n\\nQ: {{question}}\\nA:"
scorer = "bbh"

[[configs]]
name = "cot"
model = "codex/code-davinci-002"
prompt = "{{metadata.cot}}\\n\\nQ: {{question}}\\nA: Let's think step by step."
scorer = "bbh"
select = { tags = { subtask = ${JSON.stringify(cotSubtasks)} } }
`;
}
