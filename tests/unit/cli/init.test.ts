import { readdir, readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../packages/cli/src/main.ts';
import { callThrice, fakeTerminal } from '../../support/run-thrice.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const WRITTEN = ['.env.example', 'benchmark.toml', 'questions.jsonl', 'simulated-models.json'];

describe('thrice init', () => {
  it('writes a benchmark into a folder that it creates', async () => {
    await using folder = await temporaryFolder();

    const { exitCode, stdout } = await callThrice(['init', 'my/first'], { cwd: folder.path });

    const files = await readdir(folder.resolve('my/first'));
    expect(exitCode).toBe(0);
    expect(files.sort()).toEqual([...WRITTEN, '.gitignore'].sort());
    expect(stdout).toContain('cd my/first\n  thrice run benchmark.toml');
  });

  it('names its commands as they are typed here', async () => {
    await using folder = await temporaryFolder();
    const terminal = fakeTerminal({ workingFolder: folder.path, commandName: 'npx --no thrice' });

    await runCommand(['init'], terminal);

    const spec = await readFile(folder.resolve('benchmark.toml'), 'utf8');
    expect(terminal.stdout).toContain('  npx --no thrice run benchmark.toml ');
    expect(spec).toContain('#   npx --no thrice doctor benchmark.toml ');
  });

  it('replaces no file, and writes nothing where one of its files exists', async () => {
    await using folder = await temporaryFolder({ 'questions.jsonl': 'mine', 'other.txt': '' });

    const { exitCode, stderr } = await callThrice(['init'], { cwd: folder.path });

    expect(exitCode).toBe(64);
    expect(stderr).toContain(`${folder.path}: expected a folder without questions.jsonl`);
    expect(await readdir(folder.path)).toEqual(['other.txt', 'questions.jsonl']);
    expect(await readFile(folder.resolve('questions.jsonl'), 'utf8')).toBe('mine');
  });

  it('keeps a .gitignore, and says what to add to it', async () => {
    await using folder = await temporaryFolder({ '.gitignore': 'mine\n' });

    const { exitCode, stdout } = await callThrice(['init'], { cwd: folder.path });

    expect(exitCode).toBe(0);
    expect(stdout).toContain('.gitignore is kept; add to it: .env .thrice/\n');
    expect(await readFile(folder.resolve('.gitignore'), 'utf8')).toBe('mine\n');
  });

  it('refuses a folder that it cannot create', async () => {
    await using folder = await temporaryFolder({ file: '' });

    const { exitCode, stderr } = await callThrice(['init', 'file/inner'], { cwd: folder.path });

    expect(exitCode).toBe(64);
    expect(stderr).toMatch(/file\/inner: expected a folder that can be written \(ENOTDIR/);
  });

  it('needs one edit, and a key, for a real model', async () => {
    await using folder = await temporaryFolder();
    await callThrice(['init'], { cwd: folder.path });
    const spec = folder.resolve('benchmark.toml');
    const text = await readFile(spec, 'utf8');
    await writeFile(spec, text.replace('model = "sim/small" ', 'model = "openai/gpt-5-mini"'));

    const { exitCode, stderr } = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });

    expect(exitCode).toBe(69);
    expect(stderr).toContain('config "small": expected a key in OPENAI_API_KEY, found none');
  });

  it('names a variable for each key that a built-in lane needs', async () => {
    await using folder = await temporaryFolder();
    await callThrice(['init'], { cwd: folder.path });

    const example = await readFile(folder.resolve('.env.example'), 'utf8');
    const spec = await readFile(folder.resolve('benchmark.toml'), 'utf8');

    const variables = [...example.matchAll(/^(\w+_API_KEY)=$/gm)].map(([, name = '']) => name);
    expect(variables).toContain('OPENAI_API_KEY');
    expect(variables.filter((name) => !spec.includes(name))).toEqual([]);
  });
});
