import type { Summary } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { startFailingServer } from '../support/failing-server.ts';
import { aCompletion, sendJson } from '../support/http-server.ts';
import { type Outcome, startThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, within } from '../support/wait-until.ts';

const CELL_COUNT = 800;
/** The cells that the vendor refuses. */
const FILTERED_COUNT = CELL_COUNT / 10;

const run = ['run', 'benchmark.toml', '--parallel', '64', '--json'];

async function benchmarkAt(urls: readonly string[]): Promise<TemporaryFolder> {
  const files = smallBenchmark({ url: '', questionCount: CELL_COUNT, configs: ['m'] });
  const toml = files['benchmark.toml'].replace(
    'base_url = ""',
    `endpoints = ${JSON.stringify(urls)}`,
  );
  return await temporaryFolder({ ...files, 'benchmark.toml': toml });
}

/** How the cells of a run ended. */
function figuresOf({ stdout }: Outcome): Readonly<Record<string, number | undefined>> {
  const { configs } = JSON.parse(stdout) as Summary;
  const { scored, unparsed, failed, notAttempted, correct } = configs[0]?.replicates[0] ?? {};
  return { scored, unparsed, failed, notAttempted, correct };
}

const allScored = {
  scored: CELL_COUNT,
  unparsed: 0,
  failed: 0,
  notAttempted: 0,
  correct: CELL_COUNT,
};

describe('a run over two endpoints', () => {
  it.each(['refuses', 'resets'] as const)(
    'is scored in full when one of them %s every connection, which gets a few calls',
    async (kind) => {
      await using dead = await startFailingServer();
      await using live = await startFailingServer();
      await dead.takeOut(kind);
      await using folder = await benchmarkAt([dead.url, live.url]);
      await using running = startThrice(run, { cwd: folder.path });

      const outcome = await endOf(running);

      expect(outcome.exitCode).toBe(0);
      expect(figuresOf(outcome)).toEqual(allScored);
      expect(live.answerCount).toBe(CELL_COUNT);
      // Those in flight together at the start, and one for each time that it is tried again.
      expect(dead.resetCount).toBeLessThanOrEqual(64);
      expect(outcome.stderr).not.toContain('blocked');
    },
  );
});

describe('a server that is out in the middle of a run', () => {
  it.each(['refuses', 'resets'] as const)(
    'fails no cell when it %s connections until the breaker has opened',
    async (outageKind) => {
      await using server = await startFailingServer({ outAfter: CELL_COUNT / 2, outageKind });
      await using folder = await benchmarkAt([server.url]);
      await using running = startThrice(run, { cwd: folder.path });

      await within(
        120,
        'the breaker to open',
        running.prints(/blocked: lane lab: .*; since .*, next call at /),
      );
      await server.takeBack();
      const outcome = await endOf(running);

      expect(outcome.exitCode).toBe(0);
      expect(figuresOf(outcome)).toEqual(allScored);
      // Answers that were on their way when the connections broke are lost.
      expect(server.answerCount).toBeGreaterThanOrEqual(CELL_COUNT);
      expect(server.answerCount).toBeLessThan(CELL_COUNT + 64);
    },
  );
});

describe('a server that refuses every tenth question because of its filter', () => {
  it.each([
    [
      'status 400',
      // https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter (prompt filtered)
      (response: Parameters<typeof sendJson>[0]) =>
        sendJson(
          response,
          {
            error: {
              message:
                "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
              type: null,
              param: 'prompt',
              code: 'content_filter',
              status: 400,
            },
          },
          { status: 400 },
        ),
    ],
    [
      'status 403',
      // https://github.com/theopenco/llmgateway/pull/1785 (xAI)
      (response: Parameters<typeof sendJson>[0]) =>
        sendJson(
          response,
          {
            code: 'permission-denied',
            error: 'Content violates usage guidelines: SAFETY_CHECK_TYPE_CSAM',
          },
          { status: 403 },
        ),
    ],
    [
      'finish reason content_filter',
      // https://platform.openai.com/docs/api-reference/chat/object (finish_reason)
      (response: Parameters<typeof sendJson>[0]) =>
        sendJson(
          response,
          aCompletion(
            { content: null },
            {
              choices: [{ index: 0, message: { content: null }, finish_reason: 'content_filter' }],
            },
          ),
        ),
    ],
  ])('ends with these cells rejected and the others scored: %s', async (_, refuse) => {
    await using server = await startFailingServer({
      answer: (response, requestNo) =>
        requestNo % 10 === 0 ? refuse(response) : sendJson(response, aCompletion()),
    });
    await using folder = await benchmarkAt([server.url]);
    await using running = startThrice(run, { cwd: folder.path });

    const outcome = await endOf(running);

    expect(outcome.exitCode).toBe(1);
    expect(figuresOf(outcome)).toEqual({
      scored: CELL_COUNT - FILTERED_COUNT,
      unparsed: 0,
      failed: FILTERED_COUNT,
      notAttempted: 0,
      correct: CELL_COUNT - FILTERED_COUNT,
    });
    expect(server.answerCount).toBe(CELL_COUNT);
  });
});
