import {
  type Benchmark,
  type BenchmarkSpec,
  type QuestionMessage,
  type QuestionSource,
  SIMULATOR_LANE,
} from '@thrice/core';
import type { SimulatedQuestion, Simulator } from '@thrice/simulator';

/**
 * Starts the bundled simulator for a benchmark that uses lane `sim`, with its own questions.
 *
 * @returns Undefined where the lane is not used, or has a URL.
 * @throws {ThriceError} `invalid-file` for a bad behaviour or faults file.
 */
export async function startBundledSimulator(
  { spec, benchmark }: { readonly spec: BenchmarkSpec; readonly benchmark: Benchmark },
  source: Pick<QuestionSource, 'read'>,
  resolvePath: (path: string) => string,
): Promise<Simulator | undefined> {
  if (benchmark.lanes.get(SIMULATOR_LANE)?.endpoints.length !== 0) return undefined;
  const { loadBehaviour, loadFaults, startSimulator } = await import('@thrice/simulator');
  const { behaviour, faults } = spec.lanes[SIMULATOR_LANE] ?? {};
  return await startSimulator({
    behaviour: behaviour === undefined ? undefined : await loadBehaviour(resolvePath(behaviour)),
    faults: faults === undefined ? undefined : await loadFaults(resolvePath(faults)),
    questions: behaviour === undefined ? undefined : await readSimulatedQuestions(source),
  });
}

/** Reads the questions of a source in the form that simulated models answer from. */
export async function readSimulatedQuestions(
  source: Pick<QuestionSource, 'read'>,
): Promise<readonly SimulatedQuestion[]> {
  const questions: SimulatedQuestion[] = [];
  for await (const { id, question, messages, target, choices } of source.read()) {
    questions.push({
      id,
      question: question ?? textOf(messages?.at(-1)?.content ?? ''),
      ...(target === null ? {} : { target }),
      ...(choices === null ? {} : { choices }),
    });
  }
  return questions;
}

/** The text of a message: what the simulator reads of it. */
function textOf(content: QuestionMessage['content']): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
