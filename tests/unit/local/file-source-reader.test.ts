import { truncate } from 'node:fs/promises';
import { createNodeDigest, fileSourceReader } from '@thrice/local';
import { describe, expect, it } from 'vitest';
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

  it('names a missing file', async () => {
    await using folder = await temporaryFolder();
    const path = folder.resolve('a.txt');
    const expected = { code: 'invalid-file', message: `${path}: no such file` };

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
