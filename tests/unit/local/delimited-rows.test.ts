import { gzipSync } from 'node:zlib';
import { fileSourceReader } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { collect } from '../../support/collect.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('a CSV or TSV file', () => {
  it.each([
    ['commas', 'q.csv', 'id,question\n1,"a, b"\n2,c\n'],
    ['CRLF', 'q.csv', 'id,question\r\n1,"a, b"\r\n2,c\r\n'],
    ['LF after CRLF', 'q.csv', 'id,question\r\n1,"a, b"\n2,c\n'],
    ['CRLF after LF', 'q.csv', 'id,question\n1,"a, b"\r\n2,c\r\n'],
    ['CR, as old Macs wrote it', 'q.csv', 'id,question\r1,"a, b"\r2,c\r'],
    ['a byte order mark', 'q.csv', '\uFEFFid,question\n1,"a, b"\n2,c'],
    ['semicolons, as spreadsheets write it', 'q.csv', 'id;question\n1;a, b\n2;c\n'],
    ['tabs in a file called CSV', 'q.csv', 'id\tquestion\n1\ta, b\n2\tc\n'],
    ['tabs', 'q.tsv', 'id\tquestion\n1\ta, b\n2\tc\n'],
    ['an extension in capitals', 'q.CSV', 'id,question\n1,"a, b"\n2,c\n'],
    ['spaces around names', 'q.csv', ' id , question\n1,"a, b"\n2,c\n'],
    ['the index of pandas', 'q.csv', ',id,question\n0,1,"a, b"\n1,2,c\n'],
    ['rows of empty fields', 'q.csv', 'id,question\n1,"a, b"\n,\n2,c\n , \n'],
    ['blank lines', 'q.csv', 'id,question\n1,"a, b"\n\n2,c\n\n'],
  ])('is read with %s', async (_, name, text) => {
    expect(await valuesOf(name, text)).toEqual([
      { id: '1', question: 'a, b' },
      { id: '2', question: 'c' },
    ]);
  });

  it('is unpacked', async () => {
    expect(await valuesOf('q.csv.gz', gzipSync('id,question\n1,a\n'))).toEqual([
      { id: '1', question: 'a' },
    ]);
  });

  it('has the line on which each row begins', async () => {
    const rows = await rowsOf('q.csv', 'id,question\n\n1,"a\nb"\n\n2,c\n"3","\n\nd"\n4,e\n');

    expect(rows.map(({ place }) => place)).toEqual([':3', ':6', ':7', ':10']);
  });

  it.each([
    ['CRLF', 'id,question\r\n\r\n1,"a\r\nb"\r\n2,c\r\n3\r\n', ':6: expected 2 fields'],
    ['LF after CRLF', 'id,question\r\n\n1,"a\nb"\r\n2,c\n3\n', ':6: expected 2 fields'],
    ['CRLF after LF', 'id,question\n\r\n1,"a\r\nb"\n2,c\r\n3\n', ':6: expected 2 fields'],
  ])('counts lines that end with %s', async (_, text, problem) => {
    await expect(rowsOf('q.csv', text)).rejects.toThrow(problem);
  });

  it('has unknown values for empty fields', async () => {
    expect(await valuesOf('q.csv', 'id,question,target\n1,a,\n')).toEqual([
      { id: '1', question: 'a', target: null },
    ]);
  });

  it('keeps quotation marks within the fields of TSV', async () => {
    expect(await valuesOf('q.tsv', 'id\tquestion\n1\tsay "a" and b\n2\t"a" said b\n')).toEqual([
      { id: '1', question: 'say "a" and b' },
      { id: '2', question: '"a" said b' },
    ]);
  });

  it('is read with names from elsewhere where it has no header', async () => {
    await using folder = await temporaryFolder({ 'q.tsv': 'a\t1\nb\t2\n' });
    const table = fileSourceReader.readTable(folder.resolve('q.tsv'), ['question', 'target']);

    expect(await collect(table)).toEqual([
      { value: { question: 'a', target: '1' }, place: ':1' },
      { value: { question: 'b', target: '2' }, place: ':2' },
    ]);
  });

  it.each([
    [
      'more fields than columns',
      'id,q\n1,a,b\n',
      ':2: expected 2 fields, one per column, received 3',
    ],
    ['fewer fields', 'id,q\n1,a\n\n2\n', ':4: expected 2 fields, one per column, received 1'],
    [
      'an open quotation mark',
      'id,q\n1,"a\n2,b\n',
      ': column "q": expected the quotation mark that closes',
    ],
    [
      'a quotation mark within',
      'id,q\n1,a"b\n',
      ':2: column "q": expected a quotation mark only around',
    ],
    ['text after one', 'id,q\n1,"a"b\n', ':2: column "q": expected the end of the field'],
    [
      'two columns of one name',
      'id,q,q\n1,a,b\n',
      ':1: expected columns with different names, received "q" twice',
    ],
  ])('is rejected for %s, with file, line and column', async (_, text, problem) => {
    const reading = rowsOf('q.csv', text);

    await expect(reading).rejects.toMatchObject({ code: 'invalid-question' });
    await expect(reading).rejects.toThrow(problem);
  });

  it.each([
    [
      'other bytes than UTF-8',
      'q.csv',
      Buffer.from('id,q\n1,caf\xe9\n', 'latin1'),
      'q.csv:2: expected UTF-8',
    ],
    ['UTF-16', 'q.tsv', Buffer.from('\uFEFFid\tq\n', 'utf16le'), 'expected UTF-8'],
    ['no gzip in a name with .gz', 'q.csv.gz', Buffer.from('id,q\n'), 'expected a gzip file'],
    [
      'a gzip file that breaks off',
      'q.csv.gz',
      gzipSync('id,q\n1,a\n').subarray(0, 20),
      'expected a gzip file',
    ],
  ])('is rejected for %s', async (_, name, bytes, problem) => {
    const reading = rowsOf(name, bytes);

    await expect(reading).rejects.toMatchObject({ code: 'invalid-file' });
    await expect(reading).rejects.toThrow(problem);
  });

  it('is missing under its name', async () => {
    await using folder = await temporaryFolder();
    const path = folder.resolve('q.csv.gz');

    await expect(collect(fileSourceReader.readTable(path))).rejects.toMatchObject({
      code: 'invalid-file',
      message: `${path}: no such file; check the path`,
    });
  });

  it('is not read on when its reader stops', async () => {
    const many = `id,question\n${'1,a\n'.repeat(200_000)}`;
    await using folder = await temporaryFolder({ 'q.csv': many });

    for await (const { value } of fileSourceReader.readTable(folder.resolve('q.csv'))) {
      expect(value).toEqual({ id: '1', question: 'a' });
      break;
    }
  });
});

describe('packed JSON', () => {
  it('is read by lines and as a whole', async () => {
    await using folder = await temporaryFolder({ 'q.jsonl.gz': gzipSync('{}\n[1]\n') });
    const path = folder.resolve('q.jsonl.gz');

    expect(await collect(fileSourceReader.readLines(path))).toEqual(['{}', '[1]']);
    expect(await fileSourceReader.readText(path)).toBe('{}\n[1]\n');
  });
});

async function rowsOf(name: string, content: string | Uint8Array) {
  await using folder = await temporaryFolder({ [name]: content });
  return await collect(fileSourceReader.readTable(folder.resolve(name)));
}

async function valuesOf(name: string, content: string | Uint8Array) {
  return (await rowsOf(name, content)).map(({ value }) => value);
}
