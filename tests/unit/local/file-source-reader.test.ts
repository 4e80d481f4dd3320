import { truncate } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { createNodeDigest, fileSourceReader } from '@thrice/local';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUtf8 } from '../../../packages/local/src/sources/read-bytes.ts';
import { collect } from '../../support/collect.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function linesOf(path: string): Promise<string[]> {
  return await collect(fileSourceReader.readLines(path));
}

describe('fileSourceReader', () => {
  it('reads texts and lines', async () => {
    await using folder = await temporaryFolder({ 'a.txt': 'é\r\nz\u2028wei\n' });
    const path = folder.resolve('a.txt');

    expect(await fileSourceReader.readText(path)).toBe('é\r\nz\u2028wei\n');
    expect(await linesOf(path)).toEqual(['é', 'z\u2028wei']);
  });

  it('returns how a text begins, packed or not', async () => {
    await using folder = await temporaryFolder({ 'a.txt': '[1]', 'b.txt.gz': gzipSync('{}') });

    expect(await fileSourceReader.readStart(folder.resolve('a.txt'))).toBe('[1]');
    expect(await fileSourceReader.readStart(folder.resolve('b.txt.gz'))).toBe('{}');
  });

  it.each([
    ['in Latin-1', Buffer.from('a\nb\ncaf\xe9\nd\n', 'latin1'), 3],
    ['with a character cut off at a line end', Buffer.from('a\nb\xe2\x82\nc\n', 'latin1'), 2],
    ['that ends within a character', Buffer.from('a\nb\xe2\x82', 'latin1'), 2],
    ['with a bad byte at its start', Buffer.from('\x82a\n', 'latin1'), 1],
    [
      'far from its start',
      Buffer.concat([Buffer.from('é€𝄞\n'.repeat(60_000)), Buffer.from([0xff])]),
      60_001,
    ],
  ])('refuses a text %s, with the line', async (_, bytes, line) => {
    await using folder = await temporaryFolder({ 'a.txt': bytes });
    const path = folder.resolve('a.txt');
    const expected = {
      code: 'invalid-file',
      message: `${path}:${line}: expected UTF-8 text, received other bytes; save it as UTF-8 (in a spreadsheet: "CSV UTF-8")`,
    };

    await expect(fileSourceReader.readText(path)).rejects.toMatchObject(expected);
    await expect(linesOf(path)).rejects.toMatchObject(expected);
  });

  it('reads characters that its chunks split, and counts the lines before a bad byte wherever they do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.constantFrom('a', 'é', '€', '𝄞', '\n'))),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
        fc.boolean(),
        async (words, sizes, isBad) => {
          const text = words.flat().join('');
          const bytes = Buffer.concat([
            Buffer.from(text),
            Buffer.from(isBad ? [0xff, 0x0a, 0xff] : []),
          ]);

          const reading = collect(decodeUtf8('a.txt', cut(bytes, sizes)));

          const line = text.split('\n').length;
          if (isBad) await expect(reading).rejects.toThrow(`a.txt:${line}: expected UTF-8`);
          else expect((await reading).join('')).toBe(text);
        },
      ),
    );
  });

  it('refuses a line that is no row before it is in memory', async () => {
    const mebibyte = Buffer.alloc(2 ** 20, 'x');
    const state = { read: 0 };
    async function* chunks(): AsyncIterable<Uint8Array> {
      yield Buffer.from('{}\n');
      for (; state.read < 600; state.read += 1) yield mebibyte;
    }

    const reading = collect(decodeUtf8('q.jsonl', chunks(), 64 * 2 ** 20));

    await expect(reading).rejects.toMatchObject({
      code: 'invalid-file',
      message:
        'q.jsonl:2: expected lines of at most 64 MiB, received a longer one; write one row per line',
    });
    expect(state.read).toBe(64);
  });

  it('reads no line of more than 64 MiB', async () => {
    await using folder = await temporaryFolder({ 'q.jsonl': '' });
    await truncate(folder.resolve('q.jsonl'), 600 * 2 ** 20);

    await expect(linesOf(folder.resolve('q.jsonl'))).rejects.toThrow(
      ':1: expected lines of at most 64 MiB',
    );
  });

  it('names a missing file', async () => {
    await using folder = await temporaryFolder();
    const path = folder.resolve('a.txt');
    const expected = { code: 'invalid-file', message: `${path}: no such file; check the path` };

    await expect(fileSourceReader.readText(path)).rejects.toMatchObject(expected);
    await expect(linesOf(path)).rejects.toMatchObject(expected);
  });

  it('refuses a text that is too long to be read whole', async () => {
    await using folder = await temporaryFolder({ 'a.txt': '' });
    const path = folder.resolve('a.txt');
    // A sparse file: it takes no space.
    await truncate(path, 3 * 2 ** 30);

    await expect(fileSourceReader.readText(path)).rejects.toMatchObject({
      code: 'invalid-file',
      message: `${path}: expected a text of at most 512 MiB, received a longer one`,
    });
  });

  it('refuses to read a folder as a file', async () => {
    await using folder = await temporaryFolder({ 'sub/a.txt': '' });
    const expected = {
      code: 'invalid-file',
      message: expect.stringContaining(folder.resolve('sub')) as string,
    };

    await expect(fileSourceReader.readText(folder.resolve('sub'))).rejects.toMatchObject(expected);
    await expect(linesOf(folder.resolve('sub'))).rejects.toMatchObject(expected);
    await expect(fileSourceReader.digestFile(folder.resolve('sub'))).rejects.toMatchObject(
      expected,
    );
  });

  it('lists a folder by code unit', async () => {
    await using folder = await temporaryFolder({ b: '', a10: '', a9: '', B: '', 'sub/x': '' });

    expect(await fileSourceReader.listFolder(folder.path)).toEqual(['B', 'a10', 'a9', 'b', 'sub']);
  });

  it('returns undefined if the folder does not exist', async () => {
    await using folder = await temporaryFolder({ file: '' });

    expect(await fileSourceReader.listFolder(folder.resolve('none'))).toBeUndefined();
    expect(await fileSourceReader.listFolder(folder.resolve('file'))).toBeUndefined();
  });

  it('digests the bytes of a file', async () => {
    await using folder = await temporaryFolder({ abc: 'abc', empty: '' });

    // FIPS 180-2, appendix B.1, and the digest of the empty string.
    expect(await fileSourceReader.digestFile(folder.resolve('abc'))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    expect(await fileSourceReader.digestFile(folder.resolve('empty'))).toBe(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
    expect(await fileSourceReader.digestFile(folder.resolve('none'))).toBeUndefined();
  });
});

describe('createNodeDigest', () => {
  it('digests texts as UTF-8, however they are split', () => {
    const whole = createNodeDigest();
    const parted = createNodeDigest();
    whole.update('aé€');
    for (const part of ['a', '', 'é', '€']) parted.update(part);

    const digest = whole.hex();

    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(parted.hex()).toBe(digest);
  });
});

/** The bytes in chunks of these sizes, over and over. */
async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncIterable<Uint8Array> {
  for (let start = 0, count = 0; start < bytes.length; count += 1) {
    const end = start + (sizes[count % sizes.length] ?? 1);
    yield bytes.subarray(start, end);
    start = end;
  }
}
