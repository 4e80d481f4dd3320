import { readdirSync, readFileSync } from 'node:fs';
import { FileBlobStore } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { anError } from '../../support/builders.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('a blob that is written to a file', () => {
  it('is flushed to disk whole before it takes the place of the old one', async () => {
    await using folder = await temporaryFolder({ 'summary.json': 'old' });
    const atFlush: { readonly current: string; readonly written: readonly string[] }[] = [];
    using blobs = new FileBlobStore(folder.path, (descriptor) => {
      const names = readdirSync(folder.path).filter((name) => name.endsWith('.tmp'));
      const written = names.map((name) => readFileSync(folder.resolve(name), 'utf8'));
      atFlush.push({ current: readFileSync(folder.resolve('summary.json'), 'utf8'), written });
      expect(descriptor).toBeGreaterThan(2);
    });

    await blobs.write('summary.json', ['ne', 'w']);

    expect(atFlush).toEqual([{ current: 'old', written: ['new'] }]);
    expect(await blobs.readText('summary.json')).toBe('new');
  });

  it('leaves the old one in place if it cannot be flushed', async () => {
    await using folder = await temporaryFolder({ 'summary.json': 'old' });
    using blobs = new FileBlobStore(folder.path, () => {
      throw anError('store-unusable');
    });

    await expect(blobs.write('summary.json', ['new'])).rejects.toMatchObject({
      code: 'store-unusable',
    });

    expect(readdirSync(folder.path)).toEqual(['summary.json']);
    expect(await blobs.readText('summary.json')).toBe('old');
  });
});
