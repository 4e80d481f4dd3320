import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { anEchoLine, anEchoMeta, linesOf } from '../../support/echo-rows.ts';
import { callThrice, type Outcome } from '../../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

const files = {
  '20260701T000000Z_bbh_n1.jsonl': linesOf(anEchoMeta(), anEchoLine()),
  '20260702T000000Z_bbh_n1.jsonl': linesOf(anEchoMeta(), anEchoLine({ passed: false })),
  '20260703T000000Z_bbh_n1.jsonl': linesOf(anEchoMeta(), anEchoLine({ calls: 2 })),
};

/** A folder with a group of each file, oldest first; the header of the second is one of another version. */
async function openFolder() {
  const folder = await temporaryFolder(files);
  const imported = await thrice(folder, 'import', 'echo', ...Object.keys(files), '--json');
  const { imports } = JSON.parse(imported.stdout) as { imports: readonly { group: string }[] };
  const [oldest = '', unreadable = '', newest = ''] = imports.map(({ group }) => group);
  setHeader(folder, unreadable, '{"schemaVersion":2}');
  const message = `group ${unreadable}: expected its header as this version writes it, received invalid schemaVersion, group, benchmark; it is damaged or was written by another version: use the version that wrote it, or another folder or stage`;
  return { folder, oldest, unreadable, newest, message };
}

function setHeader(folder: TemporaryFolder, group: string, header: string): void {
  const database = new DatabaseSync(folder.resolve('.thrice/thrice.db'));
  database.prepare('UPDATE groups SET header = ? WHERE group_name = ?').run(header, group);
  database.close();
}

async function thrice(folder: TemporaryFolder, ...argv: readonly string[]): Promise<Outcome> {
  return await callThrice(argv, { cwd: folder.path });
}

describe('a folder with a group that cannot be read', () => {
  it('is listed with its other groups, the unreadable one by an error', async () => {
    const { folder, oldest, newest, message } = await openFolder();
    await using _ = folder;

    const { exitCode, stdout, stderr } = await thrice(folder, 'ls');

    expect(exitCode).toBe(69);
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([
      'group',
      newest,
      oldest,
      '',
    ]);
    expect(stderr).toBe(`thrice: [store-unusable] ${message}\n`);
  });

  it('is listed in JSON with the unreadable group in its place', async () => {
    const { folder, oldest, unreadable, newest, message } = await openFolder();
    await using _ = folder;

    const { exitCode, stdout } = await thrice(folder, 'ls', '--json');

    expect(exitCode).toBe(69);
    expect(JSON.parse(stdout)).toMatchObject([
      { group: newest, state: 'incomplete' },
      {
        group: unreadable,
        createdAt: '2026-07-02T00:00:00.000Z',
        state: 'unreadable',
        error: { code: 'store-unusable', class: 'misconfigured', message },
      },
      { group: oldest, state: 'incomplete' },
    ]);
  });

  it('is listed without a table if no group can be read', async () => {
    const { folder, oldest, newest } = await openFolder();
    await using _ = folder;
    for (const group of [oldest, newest]) setHeader(folder, group, '{');

    const { exitCode, stdout, stderr } = await thrice(folder, 'ls');

    expect({ exitCode, stdout }).toEqual({ exitCode: 69, stdout: '' });
    expect(stderr.split('\n')).toHaveLength(4);
  });

  it('lets the others be read by their names, and the newest without', async () => {
    const { folder, oldest, newest } = await openFolder();
    await using _ = folder;

    const named = await thrice(folder, 'status', oldest, '--json');
    const ofRun = await thrice(folder, 'show', `${oldest}-r1`, 'haiku-only', 'bbh/snarks/0');
    const unnamed = await thrice(folder, 'status', '--json');

    expect(JSON.parse(named.stdout)).toMatchObject({ group: oldest });
    expect(ofRun).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(unnamed.stdout)).toMatchObject({ group: newest });
  });

  it('names the unreadable group where it is meant, or may be', async () => {
    const { folder, unreadable, newest, message } = await openFolder();
    await using _ = folder;
    const expected = { exitCode: 69, stderr: `thrice: [store-unusable] ${message}\n` };

    expect(await thrice(folder, 'status', unreadable)).toMatchObject(expected);
    expect(await thrice(folder, 'verify', `${unreadable}-r1`)).toMatchObject(expected);
    expect(await thrice(folder, 'status', 'echo-bbh')).toMatchObject(expected);
    await thrice(folder, 'delete', newest, '--yes');
    expect(await thrice(folder, 'status')).toMatchObject(expected);
  });

  it('refuses the import of the same file', async () => {
    const { folder, message } = await openFolder();
    await using _ = folder;
    const [, file = ''] = Object.keys(files);

    const same = await thrice(folder, 'import', 'echo', file);

    expect(same.exitCode).toBe(69);
    expect(same.stderr).toContain(message);
  });

  it('deletes the others, and keeps questions that the unreadable group may use', async () => {
    const { folder, oldest, newest, unreadable } = await openFolder();
    await using _ = folder;

    const named = await thrice(folder, 'delete', newest, '--yes');
    const old = await thrice(folder, 'delete', '--older-than', '1', '--yes', '--json');

    expect(named).toMatchObject({
      exitCode: 0,
      stderr: `the questions of ${newest} are kept: another group uses them, or cannot be read\n`,
    });
    expect(JSON.parse(old.stdout)).toEqual({
      deleted: [{ group: oldest, dlqMessages: 0, sharesQuestions: true }],
      kept: [unreadable],
    });
  });
});
