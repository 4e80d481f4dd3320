import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink, truncate, utimes } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ThriceError } from '@thrice/core';
import { FileBlobStore } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Starting processes can be slow on a busy machine. */
const PROCESS_TIMEOUT_MS = 60_000;

const source = resolve(import.meta.dirname, '../../../packages/local/src/store/file-blob-store.ts');
const unusable = { code: 'store-unusable' } satisfies Partial<ThriceError>;

describe('FileBlobStore', () => {
  it('stores a blob in the file that its key names', async () => {
    await using folder = await temporaryFolder();
    using blobs = new FileBlobStore(folder.path);

    await blobs.write('runs/demo/summary.json', ['{}\n']);

    expect(await readFile(folder.resolve('runs', 'demo', 'summary.json'), 'utf8')).toBe('{}\n');
  });

  it('leaves no temporary file behind, whether a write succeeds or not', async () => {
    await using folder = await temporaryFolder();
    using blobs = new FileBlobStore(folder.path);
    async function* breakingText() {
      yield await Promise.resolve('half');
      throw new Error('the source broke');
    }

    await blobs.write('a', ['whole']);
    await blobs.write('b', breakingText()).catch(() => undefined);

    expect(await readdir(folder.path)).toEqual(['a']);
  });

  it(
    'removes the temporary file of a writer of the same blob that was killed, and no other',
    async () => {
      await using folder = await temporaryFolder({ 'a.other.tmp': '', 'a.txt': '' });
      using blobs = new FileBlobStore(folder.path);
      const script = `
      const { FileBlobStore } = await import(${JSON.stringify(pathToFileURL(source).href)});
      const blobs = new FileBlobStore(${JSON.stringify(folder.path)});
      async function* text() { process.stdout.write('x'); await new Promise((end) => setTimeout(end, 60_000)); }
      await Promise.all([blobs.write('a', text()), blobs.write('b', text())]);`;
      const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
      let output = '';
      while (output.length < 2) output += String((await once(child.stdout, 'data'))[0]);

      await blobs.write('a', ['whole']);
      const whileAlive = await readdir(folder.path);
      child.kill('SIGKILL');
      await once(child, 'close');
      await blobs.write('a', ['whole']);

      expect(whileAlive.filter((name) => /^[ab]\..*\.tmp$/.test(name))).toHaveLength(3);
      expect((await readdir(folder.path)).sort()).toEqual([
        'a',
        'a.other.tmp',
        'a.txt',
        expect.stringMatching(/^b\..*\.tmp$/) as string,
      ]);
    },
    PROCESS_TIMEOUT_MS,
  );

  it('completes a write whatever the clock says meanwhile', async () => {
    await using folder = await temporaryFolder();
    using blobs = new FileBlobStore(folder.path);
    async function* slowText() {
      yield 'slow';
      // As if the clock had been set forward by years since the write began.
      for (const name of await readdir(folder.path)) await utimes(folder.resolve(name), 1, 1);
      await blobs.write('a', ['meanwhile']);
      yield 'er';
    }

    await blobs.write('a', slowText());

    expect(await blobs.readText('a')).toBe('slower');
    expect(await readdir(folder.path)).toEqual(['a']);
  });

  it('names the file it cannot write because another file blocks its folder', async () => {
    await using folder = await temporaryFolder({ runs: 'in the way' });
    using blobs = new FileBlobStore(folder.path);

    const written = blobs.write('runs/demo/summary.json', ['{}']);

    await expect(written).rejects.toMatchObject({
      ...unusable,
      message: expect.stringContaining(folder.resolve('runs', 'demo', 'summary.json')) as string,
    });
  });

  it('does not replace a folder of the same name', async () => {
    await using folder = await temporaryFolder({ 'a/file': 'kept' });
    using blobs = new FileBlobStore(folder.path);

    await expect(blobs.write('a', ['text'])).rejects.toMatchObject(unusable);

    expect(await blobs.readText('a/file')).toBe('kept');
    expect(await readdir(folder.path)).toEqual(['a']);
  });

  it(
    'never mistakes a write that the system cut short for a complete one',
    async () => {
      await using folder = await temporaryFolder();
      const script = `
      const { FileBlobStore } = await import(${JSON.stringify(pathToFileURL(source).href)});
      const blobs = new FileBlobStore(${JSON.stringify(folder.path)});
      await blobs.write('a', ['x'.repeat(100_000)]).then(
        () => process.stdout.write('written'),
        (error) => process.stdout.write(error.code));`;
      // With a limit of 64 KiB per file, as on a full disk, the first write is cut short and the next fails.
      const child = spawn('bash', [
        '-c',
        'trap "" XFSZ; ulimit -f 64; exec "$0" --input-type=module --eval "$1"',
        process.execPath,
        script,
      ]);
      let output = '';
      child.stdout.on('data', (text) => {
        output += String(text);
      });

      await once(child, 'close');

      expect(output).toBe('store-unusable');
      expect(await readdir(folder.path)).toEqual([]);
    },
    PROCESS_TIMEOUT_MS,
  );

  it('rejects ranges of a truncated file', async () => {
    await using folder = await temporaryFolder();
    using blobs = new FileBlobStore(folder.path);
    await blobs.write('questions/a.jsonl', ['0123456789']);
    await blobs.readRange('questions/a.jsonl', 8, 2);

    await truncate(folder.resolve('questions', 'a.jsonl'), 9);

    expect(await blobs.readRange('questions/a.jsonl', 0, 9)).toBe('012345678');
    await expect(blobs.readRange('questions/a.jsonl', 8, 2)).rejects.toMatchObject({
      ...unusable,
      message: `${folder.resolve('questions', 'a.jsonl')}: expected 2 bytes at 8, received 1; the file is damaged`,
    });
  });

  it('keeps one descriptor per file, however many ranges are read, and none after disposal', async () => {
    await using folder = await temporaryFolder();
    const blobs = new FileBlobStore(folder.path);
    await blobs.write('a', ['0123456789']);
    await blobs.write('b', ['0123456789']);
    const countOpen = async () => {
      const links = await readdir('/proc/self/fd');
      const targets = await Promise.all(
        links.map((link) => readlink(`/proc/self/fd/${link}`).catch(() => '')),
      );
      return targets.filter((target) => target.startsWith(folder.path)).length;
    };

    for (let offset = 0; offset < 10; offset += 1) {
      await blobs.readRange('a', offset, 1);
      await blobs.readRange('b', offset, 1);
    }
    const during = await countOpen();
    blobs[Symbol.dispose]();

    expect(during).toBe(2);
    expect(await countOpen()).toBe(0);
  });
});
