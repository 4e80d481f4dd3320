import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CellRow } from '@thrice/core';
import { type Behaviour, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../support/additions.ts';
import { readCellRows } from '../support/cell-rows.ts';
import { callThrice, groupOf } from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const questions = additions(8);
const configs = [{ name: 'sure', model: 'lab/m', confidence: true }];
const accuracy = 0.75;

async function startModels(model: Partial<Behaviour['models'][string]> = {}) {
  const behaviour = { seed: 1, models: { m: { accuracy, ...model } } };
  const faults = { seed: 1, faults: [], batches: { seconds: 0 } };
  return await startSimulator({ behaviour, faults, questions });
}

/** A folder with a spec of one config that asks for a confidence. */
async function aBenchmarkFolder(lane: object): Promise<TemporaryFolder> {
  return await temporaryFolder({
    'sums.json': specOf(lane),
    'questions.jsonl': toJsonl(questions),
  });
}

function specOf(lab: object): string {
  return JSON.stringify({ questions: 'questions.jsonl', lanes: { lab }, configs });
}

async function readManifest(folder: TemporaryFolder, group: string): Promise<unknown> {
  const path = join(folder.path, '.thrice/runs', group, `${group}-r1`, 'manifest.json');
  return JSON.parse(await readFile(path, 'utf8'));
}

function confidencesOf(rows: readonly CellRow[]): readonly unknown[] {
  return rows.map(({ outcome, confidence }) => [outcome, confidence]);
}

const allKnown = questions.map(() => ['scored', accuracy]);

describe('a run that asks for confidences', () => {
  it.each(['chat', 'responses', 'anthropic'])(
    'has them in rows, summary and manifest (%s)',
    async (protocol) => {
      await using models = await startModels();
      await using folder = await aBenchmarkFolder({ base_url: models.url, protocol });

      const run = await callThrice(['run', 'sums.json'], { cwd: folder.path });
      const group = groupOf(run);
      const verified = await callThrice(['verify', group], { cwd: folder.path });
      const summary = await callThrice(['summarize', group, '--json'], { cwd: folder.path });
      const table = await callThrice(['summarize', group], { cwd: folder.path });
      const shown = await callThrice(['show', group, 'sure', 'q0000'], { cwd: folder.path });

      expect([run.exitCode, verified.exitCode]).toEqual([0, 0]);
      const rows = await readCellRows(folder.resolve('.thrice'), group, 'sure');
      expect(confidencesOf(rows)).toEqual(allKnown);
      expect(rows[0]?.output).toMatch(/^\{"answer":/);
      expect(rows.filter(({ score }) => score === 1).length).toBeGreaterThan(0);
      expect(shown.stdout).toContain(`\nconfidence ${accuracy}\n`);
      expect(JSON.parse(summary.stdout).configs[0].replicates[0]).toMatchObject({
        meanConfidence: accuracy,
        confidences: questions.length,
        nCal: questions.length,
      });
      expect(table.stdout).toMatch(/ brier +ece +n cal /u);
      expect(table.stdout).toContain(`sure: all 8 answers state the confidence ${accuracy}`);
      expect(await readManifest(folder, group)).toMatchObject({
        configs: [{ confidence: { 'lab/m': 'structured' } }],
      });
    },
  );

  it.each([
    ['openai', false],
    ['vllm', false],
    ['llama.cpp', false],
    ['ollama', false],
    ['llama.cpp', true],
  ] as const)(
    'pauses where %s refuses structured output, and asks in tags once the spec says so (batch: %s)',
    async (refusesStructuredOutput, batch) => {
      await using models = await startModels({ refusesStructuredOutput });
      const lane = { base_url: models.url, batch };
      await using folder = await aBenchmarkFolder(lane);

      const paused = await callThrice(['run', 'sums.json'], { cwd: folder.path });
      const group = groupOf(paused);
      const before = await readCellRows(folder.resolve('.thrice'), group, 'sure');
      await writeFile(folder.resolve('sums.json'), specOf({ ...lane, tagged_text: ['m'] }));
      const resumed = await callThrice(['resume', group, '--spec', 'sums.json'], {
        cwd: folder.path,
      });
      const verified = await callThrice(['verify', group], { cwd: folder.path });

      expect(paused.exitCode).toBe(2);
      expect(paused.stdout + paused.stderr).toContain('add "m" to tagged_text of [lanes.lab]');
      expect(confidencesOf(before)).toEqual(questions.map(() => ['not-attempted', null]));
      expect([resumed.exitCode, verified.exitCode]).toEqual([0, 0]);
      const rows = await readCellRows(folder.resolve('.thrice'), group, 'sure');
      expect(confidencesOf(rows)).toEqual(allKnown);
      expect(rows[0]?.output).toMatch(/^<answer>/);
      expect(models.stats().billed.calls).toBe(questions.length);
      expect(await readManifest(folder, group)).toMatchObject({
        configs: [{ confidence: { 'lab/m': 'tagged' } }],
      });
    },
  );
});
