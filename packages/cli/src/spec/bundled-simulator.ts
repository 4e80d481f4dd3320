import {
  type BenchmarkSpec,
  namedModelsOf,
  type QuestionMessage,
  type QuestionSource,
  SIMULATOR_LANE,
} from '@thrice/core';
import type { SimulatedQuestion, Simulator } from '@thrice/simulator';

/**
 * Starts the bundled simulator for a spec that uses lane `sim`, with the spec's own questions.
 *
 * @returns Undefined for specs that do not use the lane, or that give it a URL.
 * @throws {ThriceError} `invalid-file` for a bad behaviour or faults file.
 */
export async function startBundledSimulator(
  spec: BenchmarkSpec,
  source: Pick<QuestionSource, 'read'>,
  resolvePath: (path: string) => string,
): Promise<Simulator | undefined> {
  const lane = spec.lanes[SIMULATOR_LANE];
  const isUsed = spec.configs
    .flatMap(namedModelsOf)
    .some((model) => model.startsWith(`${SIMULATOR_LANE}/`));
  if (!isUsed || lane?.base_url !== undefined || lane?.endpoints !== undefined) return undefined;
  const { loadBehaviour, loadFaults, startSimulator } = await import('@thrice/simulator');
  const { behaviour, faults } = lane ?? {};
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
