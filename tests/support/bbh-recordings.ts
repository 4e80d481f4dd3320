import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedDataDir } from './shared-data.ts';

/** One recorded output of code-davinci-002. */
export interface BbhRecording {
  readonly subtask: string;
  readonly index: number;
  readonly target: string;
  readonly prediction: string;
}

/** What the publishers counted, as far as the unit tests compare with it. */
export interface BbhCounts {
  readonly n: Readonly<Record<string, number>>;
  readonly correct: Readonly<Record<'direct' | 'cot', Readonly<Record<string, number>>>>;
  readonly averages: {
    readonly direct: Readonly<Record<string, number>>;
    readonly cot: { readonly micro_partial: number };
  };
}

/** Reads a file of recorded outputs. */
export function readBbhRecordings(arm: 'direct' | 'cot'): readonly BbhRecording[] {
  return readText(`codex_${arm}.jsonl`)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as BbhRecording);
}

/** Reads the published counts. */
export function readBbhCounts(): BbhCounts {
  return JSON.parse(readText('expected.json')) as BbhCounts;
}

/** Reads the few-shot texts, by arm and subtask. */
export function readBbhPrefixes(): Readonly<
  Record<'direct' | 'cot', Readonly<Record<string, string>>>
> {
  const { prefix } = JSON.parse(readText('prefixes.json')) as {
    readonly prefix: Record<'direct' | 'cot', Record<string, string>>;
  };
  return prefix;
}

function readText(name: string): string {
  return readFileSync(join(sharedDataDir, 'bbh', name), 'utf8');
}
