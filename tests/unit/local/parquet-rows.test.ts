import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { fileSourceReader } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { collect } from '../../support/collect.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

// Written by pyarrow 26.0.1: values.parquet in groups of two rows, one file per codec in groups of three.
const folder = fileURLToPath(new URL('../../fixtures/parquet/', import.meta.url));

describe('a Parquet file', () => {
  it('has the values that JSON has', async () => {
    const rows = await collect(fileSourceReader.readTable(`${folder}values.parquet`));

    expect(rows.map(({ place }) => place)).toEqual(['[0]', '[1]', '[2]', '[3]', '[4]']);
    expect(rows[3]?.value).toEqual({
      id: 3,
      big: '1152921504606846979',
      text: 'café 3',
      plain: 'bytes',
      picture: expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo[\w+/]+=*$/) as string,
      struct: expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo[\w+/]+=*$/) as string,
      day: '2026-01-02T00:00:00.000Z',
      at: '2026-01-02T03:04:05.000Z',
      ok: false,
      ratio: 0.5,
      tags: ['x', 'y'],
      nested: [{ role: 'user', content: 'Why?' }],
      missing: null,
    });
    expect(rows[1]?.value).toMatchObject({ tags: [] });
  });

  it.each(['none', 'gzip', 'zstd', 'brotli'])('is read with the codec %s', async (codec) => {
    const rows = await collect(fileSourceReader.readTable(`${folder}${codec}.parquet`));

    expect(rows.map(({ value }) => value)).toEqual(
      [0, 1, 2, 3, 4].map((id) => ({ id, text: `café ${id}`, tags: id === 1 ? [] : ['x', 'y'] })),
    );
  });

  it('is rejected with a codec that is not supported', async () => {
    const reading = collect(fileSourceReader.readTable(`${folder}lz4.parquet`));

    await expect(reading).rejects.toMatchObject({ code: 'invalid-question' });
    await expect(reading).rejects.toThrow(/lz4\.parquet: expected a Parquet file .*LZ4/);
  });

  it.each([
    ['text', 'id,question\n1,a\n'],
    ['nothing', ''],
    ['its end alone', 'PAR1'],
  ])('is rejected if it holds %s', async (_, content) => {
    await using place = await temporaryFolder({ 'q.parquet': content });

    const reading = collect(fileSourceReader.readTable(place.resolve('q.parquet')));

    await expect(reading).rejects.toMatchObject({ code: 'invalid-question' });
    await expect(reading).rejects.toThrow('q.parquet: expected a Parquet file');
  });

  it('is rejected if a text in it is not UTF-8', async () => {
    const good = await readFile(`${folder}none.parquet`);
    const bad = Buffer.from(good.toString('latin1').replaceAll('\xc3\xa9', '\xff\xff'), 'latin1');
    await using place = await temporaryFolder({ 'q.parquet': bad });

    const reading = collect(fileSourceReader.readTable(place.resolve('q.parquet')));

    await expect(reading).rejects.toMatchObject({ code: 'invalid-question' });
    await expect(reading).rejects.toThrow(/q\.parquet: expected a Parquet file .*utf-8/);
  });

  it('is missing under its name', async () => {
    await using place = await temporaryFolder();
    const path = place.resolve('q.parquet');

    await expect(collect(fileSourceReader.readTable(path))).rejects.toMatchObject({
      code: 'invalid-file',
      message: `${path}: no such file; check the path`,
    });
  });
});
