import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UserCall } from '@thrice/core';
import { systemClock } from '@thrice/local';
import { LocalUserCode } from '@thrice/user-code';
import { describe, expect, it } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

const LIMIT_MS = 3_000;
const fixtures = join(import.meta.dirname, '../../fixtures/user-code');
const [script, share] = ['score-lines.mjs', 'share.mjs'].map((name) =>
  readFileSync(join(fixtures, name), 'utf8'),
);
const environment = { PATH: process.env['PATH'], OPENAI_API_KEY: 'secret' };

/** A folder with a command, and what gives it answers as a page of rows does. */
async function openCommand() {
  const files = { 'score-lines.mjs': script ?? '', 'share.mjs': share ?? '', 'weight.txt': '0.25' };
  const folder = await temporaryFolder(files);
  const userCode = new LocalUserCode(systemClock, environment);
  const code = {
    command: [process.execPath, 'score-lines.mjs', 'weight.txt'],
    files: { 'score-lines.mjs': files['score-lines.mjs'], 'weight.txt': files['weight.txt'] },
  };
  const specPath = folder.resolve('spec.toml');
  const call = async (...answers: readonly string[]): Promise<readonly UserCall[]> =>
    await Promise.all(
      answers.map(async (answer, index) => {
        const input = { id: `q${index % 3}`, answer };
        return await userCode.call({ code, specPath, method: 'score', input, limitMs: LIMIT_MS });
      }),
    );
  return {
    folder,
    call,
    [Symbol.asyncDispose]: async () => {
      userCode[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const returned = (value: object): UserCall => ({ kind: 'returned', value });
// Vitest's own are of type any.
const containing = (text: string): unknown => expect.stringContaining(text);

describe('a command of a user', () => {
  it('writes its results in any order, among other lines, each answer once where ids occur twice', async () => {
    await using command = await openCommand();

    const ended = await command.call('a', 'file', 'c', 'd', 'e');

    const [half, quarter] = [returned({ score: 0.5 }), returned({ score: 0.25 })];
    expect(ended).toEqual([half, quarter, half, half, half]);
  });

  it.each<[answer: string, failure: unknown]>([
    ['exit', { kind: 'crashed', message: containing('exit code 3: loading a model\n1 lines') }],
    ['throw', { kind: 'crashed', message: containing('Error: no such unit') }],
    ['loop', { kind: 'timeout' }],
    ['nothing', { kind: 'unusable', message: containing('no line for this answer') }],
  ])('that fails (%s) fails that answer alone', async (answer, failure) => {
    await using command = await openCommand();

    const ended = await command.call('a', answer, 'c');

    const half = returned({ score: 0.5 });
    expect(ended).toEqual([half, failure, half]);
  });

  it('is not started for every answer where it fails on all', async () => {
    await using command = await openCommand();
    const broken = `import { appendFileSync } from 'node:fs';
      export const share = 1;
      appendFileSync('starts', '.');
      throw new Error('no table');`;
    await writeFile(command.folder.resolve('share.mjs'), broken);

    const ended = await command.call(...Array.from({ length: 300 }, () => 'a'));

    expect(new Set(ended.map(({ kind }) => kind))).toEqual(new Set(['crashed']));
    expect(ended[299]).toMatchObject({ message: containing('no table') });
    // Together, then the first alone: five times.
    expect(readFileSync(command.folder.resolve('starts'), 'utf8')).toHaveLength(10);
  });

  it('sees no key', async () => {
    await using command = await openCommand();

    expect(await command.call('environment')).toEqual([
      returned({ score: 1, reason: 'PATH PYTHONUNBUFFERED' }),
    ]);
  });

  it('runs as it was planned, whatever became of its files', async () => {
    await using command = await openCommand();
    await writeFile(command.folder.resolve('weight.txt'), '0.75');

    expect(await command.call('file')).toEqual([returned({ score: 0.25 })]);

    await rm(command.folder.resolve('weight.txt'));
    expect(await command.call('file')).toEqual([returned({ score: 0.25 })]);
  });

  it('fails each answer where there is no such program', async () => {
    await using folder: TemporaryFolder = await temporaryFolder();
    using userCode = new LocalUserCode(systemClock, environment);
    const code = { command: ['no-such-program'], files: {} };
    const specPath = folder.resolve('spec.toml');
    const request = { code, specPath, method: 'score', input: { id: 'q' }, limitMs: LIMIT_MS };

    expect(await userCode.call(request)).toEqual({
      kind: 'crashed',
      message: containing('ENOENT'),
    });
  });

  it.each<[what: string, script: string, ended: unknown]>([
    [
      'prints for ever, but no result',
      'setInterval(() => console.log("still loading"), 20);',
      { kind: 'timeout' },
    ],
    [
      'writes a line without end',
      'setInterval(() => process.stdout.write("x".repeat(200000)), 1);',
      { kind: 'crashed', message: containing('a line of more than 1000000 characters') },
    ],
    [
      'writes two results that differ',
      `console.log('{"id":"q","score":1}'); console.log('{"id":"q","score":0}');`,
      { kind: 'unusable', message: containing('two results') },
    ],
    [
      'leaves a process behind that holds its output',
      `require('node:child_process').spawn('sleep', ['600'], { stdio: 'inherit' }).unref();
       console.log('{"id":"q","score":1}');`,
      returned({ score: 1 }),
    ],
    [
      'writes a character in two parts',
      `const line = Buffer.from('{"id":"q","score":1,"answer":"é"}\\n');
       const half = line.indexOf(0xc3) + 1;
       process.stdout.write(line.subarray(0, half));
       setTimeout(() => process.stdout.write(line.subarray(half)), 100);`,
      returned({ score: 1, answer: 'é' }),
    ],
    [
      // Ctrl-C reaches the group of the terminal.
      'leads a group of its own',
      `console.log(JSON.stringify({ id: 'q', score: process.kill(-process.pid, 0) }));`,
      returned({ score: true }),
    ],
  ])('that %s is ended', async (_, script, ended) => {
    await using folder = await temporaryFolder({ 'odd.cjs': script });
    using userCode = new LocalUserCode(systemClock, environment);
    const code = { command: [process.execPath, 'odd.cjs'], files: { 'odd.cjs': script } };
    const specPath = folder.resolve('spec.toml');
    const request = { code, specPath, method: 'score', input: { id: 'q' }, limitMs: LIMIT_MS };

    expect(await userCode.call(request)).toEqual(ended);
  });

  it('runs as it was planned where its folder is gone, and where two of its files have the same name', async () => {
    await using folder = await temporaryFolder();
    using userCode = new LocalUserCode(systemClock, environment);
    const script = `
      const [left, right] = process.argv.slice(2).map((path) => require('node:fs').readFileSync(path, 'utf8'));
      console.log(JSON.stringify({ id: 'q', score: 1, reason: left + right }));`;
    const files = { 'score.cjs': script, 'a/weight.txt': 'a', 'b/weight.txt': 'b' };
    const code = { command: [process.execPath, ...Object.keys(files)], files };
    const specPath = folder.resolve('moved/spec.toml');
    const request = { code, specPath, method: 'score', input: { id: 'q' }, limitMs: LIMIT_MS };

    expect(await userCode.call(request)).toEqual(returned({ score: 1, reason: 'ab' }));
  });
});
