import { readFile, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { startBillingVendor } from '../../support/billing-vendor.ts';
import { aCompletion, sendJson, startHttpServer } from '../../support/http-server.ts';
import { aVerdict } from '../../support/judged-benchmark.ts';
import { judgedFiles } from '../../support/judged-files.ts';
import { callThrice, groupOf } from '../../support/run-thrice.ts';
import { smallBenchmark } from '../../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

/** A complete group whose answers are all wrong. */
async function openGroup(): Promise<{ readonly folder: TemporaryFolder; readonly group: string }> {
  await using server = await startHttpServer((response) => {
    sendJson(response, aCompletion({ content: 'It is 7' }, { model: 'a' }));
  });
  const folder = await temporaryFolder(smallBenchmark({ url: server.url }));
  const { stdout } = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });
  return { folder, group: groupOf({ stdout }) };
}

function change(folder: TemporaryFolder, sql: string): void {
  const database = new DatabaseSync(folder.resolve('.thrice', 'thrice.db'));
  database.exec(sql);
  database.close();
}

describe('results that somebody has changed', () => {
  it('do not verify, even where journal, results and files all say the same', async () => {
    const { folder, group } = await openGroup();
    await using _ = folder;
    // Everything but what the vendor sent.
    change(
      folder,
      `UPDATE calls SET entry = json_set(entry, '$.output.text', '42');
       UPDATE cells SET result = json_set(result, '$.output', '42', '$.answer', '42', '$.score', 1);`,
    );
    await callThrice(['resume', group], { cwd: folder.path });

    const { exitCode, stdout } = await callThrice(['verify', group], { cwd: folder.path });

    expect(exitCode).toBe(2);
    expect(stdout).toContain('q1: answer: output.text: published "42", its body gives "It is 7"');
    expect(stdout).toContain('4 mismatches');
  });

  it.each([
    ['the text of the journal', '$.output.text'],
    ['the body of the vendor', '$.raw.choices[0].message.content'],
  ])(
    'do not verify where one byte of a verdict is other, which leaves the grade alone: in %s',
    async (_, path) => {
      await using model = await startBillingVendor(() => '42');
      await using judge = await startBillingVendor(() => aVerdict(true));
      await using folder = await temporaryFolder(judgedFiles({ model, judge }, { count: 2 }));
      const group = groupOf(await callThrice(['run', 'judged.toml'], { cwd: folder.path }));
      const isSound = await callThrice(['verify', group], { cwd: folder.path });
      change(
        folder,
        `UPDATE calls SET entry = json_set(entry, '${path}', replace(json_extract(entry, '${path}'), 'compared', 'compareD'))
       WHERE config = 'a@1' AND id = 'q1';`,
      );

      const { exitCode, stdout } = await callThrice(['verify', group], { cwd: folder.path });

      expect(isSound.exitCode).toBe(0);
      expect(exitCode).toBe(2);
      expect(stdout).toMatch(/q1: judge-1: output\.text: published ".*", its body gives ".*"/s);
      expect(stdout).toContain('1 mismatch');
    },
  );

  it('do not verify beside files and lines of others', async () => {
    const { folder, group } = await openGroup();
    await using _ = folder;
    const runs = folder.resolve('.thrice', 'runs', group);
    await writeFile(`${runs}/${group}-r1/cells/b.jsonl`, '{}\n');
    await writeFile(`${runs}/paid-twice.jsonl`, '{"run":"x","config":"a","id":"q1"}\n');

    const { exitCode, stdout } = await callThrice(['verify', group], { cwd: folder.path });

    expect(exitCode).toBe(2);
    expect(stdout).toContain(`runs/${group}/${group}-r1/cells/b.jsonl: not a file of this group`);
    expect(stdout).toContain(`runs/${group}/paid-twice.jsonl:1: expected a cell of this group`);
  });

  const inACall = ['verify', 'show', 'resume'];
  const inACell = ['verify', 'show', 'rescore'];

  it.each([
    [
      'a text for a number in a call',
      `calls SET entry = json_set(entry, '$.call.waitMs', 'x')`,
      inACall,
    ],
    ['a call that is no JSON', `calls SET entry = '{'`, inACall],
    ['a call that is a number', `calls SET entry = '7'`, inACall],
    [
      'no calls in a list',
      `cells SET result = json_set(result, '$.calls', json('[null]'))`,
      inACell,
    ],
    ['a text for a score', `cells SET result = json_set(result, '$.score', 'high')`, inACell],
    ['an unknown state', `cells SET state = 'gone'`, inACell],
    ['no attempts in a list', `cells SET attempt_log = '[7]'`, inACell],
  ])('are an error of input, not a bug: %s', async (_, sql, commands) => {
    const { folder, group } = await openGroup();
    await using _folder = folder;
    const summary = `${folder.resolve('.thrice', 'runs', group)}/summary.json`;
    const before = await readFile(summary, 'utf8');
    change(folder, `UPDATE ${sql}`);

    for (const command of commands) {
      // As if a run had been killed after it had paid for an answer.
      if (command === 'resume')
        change(
          folder,
          `UPDATE cells SET state = 'released', result = NULL, outcome = NULL WHERE id = 'q1';
           UPDATE groups SET is_planned = 0;`,
        );
      const argv = command === 'show' ? [command, `${group}-r1`, 'a', 'q1'] : [command, group];
      const { exitCode, stderr } = await callThrice(argv, { cwd: folder.path });

      expect({ command, exitCode, stderr }).toEqual({
        command,
        exitCode: 64,
        stderr: expect.stringMatching(
          /\[invalid-file\] thrice\.db: expected .* as this version writes it/,
        ) as string,
      });
    }
    expect(await readFile(summary, 'utf8')).toBe(before);
  });
});
