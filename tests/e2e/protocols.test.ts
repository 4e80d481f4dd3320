import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../support/additions.ts';
import { readCellRows } from '../support/cell-rows.ts';
import { callThrice, groupOf } from '../support/run-thrice.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe.each(['chat', 'responses', 'anthropic'])('a run over the protocol %s', (protocol) => {
  it('answers every question, plain and streamed, and verifies', async () => {
    const questions = additions(20).map((addition, index) =>
      index % 2 === 0
        ? addition
        : { ...addition, attachments: ['data:image/png;base64,iVBORw0KGgo='] },
    );
    const spec = {
      questions: 'questions.jsonl',
      lanes: { sim: { protocol, behaviour: 'behaviour.json' } },
      configs: [
        { name: 'plain', model: 'sim/m', system: 'Be brief.', temperature: 0, max_tokens: 64 },
        { name: 'streamed', model: 'sim/m', stream: true },
      ],
    };
    await using folder = await temporaryFolder({
      'sums.json': JSON.stringify(spec),
      'behaviour.json': JSON.stringify({ seed: 1, models: { m: { accuracy: 1 } } }),
      'questions.jsonl': toJsonl(questions),
    });

    const ran = await callThrice(['run', 'sums.json'], { cwd: folder.path });
    const group = groupOf(ran);
    const verified = await callThrice(['verify', group], { cwd: folder.path });

    expect(ran).toMatchObject({ exitCode: 0 });
    expect(verified).toMatchObject({ exitCode: 0 });
    for (const config of ['plain', 'streamed']) {
      const rows = await readCellRows(folder.resolve('.thrice'), group, config);
      expect(rows.map(({ outcome, score }) => [outcome, score])).toEqual(
        Array.from({ length: 20 }, () => ['scored', 1]),
      );
      expect(rows.every(({ calls }) => (calls[0]?.outputTokens ?? 0) > 0)).toBe(true);
    }
  });
});
