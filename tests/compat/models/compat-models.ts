import { describeProblems, describeTable } from './describe-results.ts';
import type { Mode, ModelServer } from './model-server.ts';
import { aimock } from './servers/aimock.ts';
import { litellm } from './servers/litellm.ts';
import { llamaCpp } from './servers/llama-cpp.ts';
import { llmEmulator } from './servers/llm-emulator.ts';
import { mockLlm } from './servers/mock-llm.ts';
import { mockOpenaiApi } from './servers/mock-openai-api.ts';
import { openaiMockApi } from './servers/openai-mock-api.ts';
import { runTrial, type TrialResult } from './trial.ts';

const servers: readonly ModelServer[] = [
  aimock,
  llmEmulator,
  mockLlm,
  openaiMockApi,
  mockOpenaiApi,
  litellm,
  llamaCpp,
];

/** Runs the trials of the servers named on the command line, or of all, and prints a table; exits 1 if anything is wrong. */
async function main(names: readonly string[]): Promise<void> {
  // Ends the servers, too.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(130));
  }
  const chosen = servers.filter(({ name }) => names.length === 0 || names.includes(name));
  const results: TrialResult[] = [];
  const breakdowns: string[] = [];
  for (const server of chosen) {
    await runTrials(server, results).catch((error: unknown) => {
      breakdowns.push(`${server.name}: ${error instanceof Error ? error.message : String(error)}`);
    });
  }
  process.stdout.write(`\n${describeTable(results)}\n`);
  for (const text of breakdowns) process.stdout.write(`without a result: ${text}\n`);
  const isGood = breakdowns.length === 0 && results.every(({ problems }) => problems.length === 0);
  process.exitCode = isGood ? 0 : 1;
}

async function runTrials(server: ModelServer, results: TrialResult[]): Promise<void> {
  process.stderr.write(`${server.name} ${server.version}\n`);
  await server.install();
  for (const mode of modesOf(server)) {
    const result = await runTrial(server, mode);
    results.push(result);
    process.stderr.write(`${describeProblems(result)}\n`);
  }
}

function modesOf({ apiKey, refusesModels }: ModelServer): readonly Mode[] {
  return [
    'plain',
    'streamed',
    ...(apiKey === undefined ? [] : (['wrong key'] as const)),
    ...(refusesModels === true ? (['unknown model'] as const) : []),
  ];
}

await main(process.argv.slice(2));
