import {
  type BlobStore,
  type LoadedGroup,
  laneOf,
  modelRefOf,
  ThriceError,
  withSimulator,
} from '@thrice/core';
import { listModels } from '@thrice/models';
import { planProbes, probeModels } from '../doctor/probe-models.ts';
import { storedQuestions } from '../engine/stored-questions.ts';
import type { Terminal } from '../shell/terminal.ts';
import { startBundledSimulator } from '../spec/bundled-simulator.ts';
import type { Judging } from '../spec/choose-judges.ts';
import { pathResolver } from '../spec/path-resolver.ts';
import { keyOf, openHttpTransport, openModels } from './compose-local.ts';

/**
 * Refuses a judge that its lane does not know, before anything is changed for it. One that the group has already is not
 * looked for.
 *
 * The list of models costs nothing. A model that is not on it may be known all the same (vendors leave out aliases), so
 * that one is called once, which costs a few tokens.
 *
 * @param model - As in `openai/gpt-5-mini`.
 * @throws {ThriceError} Of class `misconfigured`, such as `unknown-model` or `auth-failed`.
 */
export async function refuseUnknownJudge(
  model: string,
  {
    group: { header, benchmark: known },
    judging,
    blobs,
  }: {
    readonly group: LoadedGroup;
    readonly judging: Judging;
    readonly blobs: BlobStore;
  },
  terminal: Terminal,
): Promise<void> {
  if (known.gradeConfigs.some(({ roles }) => roles.some((role) => modelRefOf(role) === model)))
    return;
  const source = { read: () => storedQuestions(header, blobs) };
  const asked = { spec: header.spec, benchmark: judging.benchmark };
  const resolve = pathResolver(header.specSource.path);
  await using simulator = await startBundledSimulator(asked, source, resolve);
  const benchmark = withSimulator(judging.benchmark, simulator?.url);
  const lane = benchmark.lanes.get(laneOf(model));
  if (lane === undefined) return;
  await using transport = openHttpTransport(terminal);
  const key = keyOf(lane, terminal);
  const [endpoint = ''] = lane.endpoints;
  const listed = await listModels({ lane, endpoint, key, transport }).catch(() => []);
  if (listed.some(({ name }) => modelRefOf({ lane: lane.name, model: name }) === model)) return;
  const planned = planProbes(benchmark, [lane]).filter(({ role }) => modelRefOf(role) === model);
  await using models = openModels(terminal);
  const [probe] = await probeModels(planned.slice(0, 1), benchmark, models);
  if (probe?.error?.class !== 'misconfigured') return;
  const { code, message } = probe.error;
  throw new ThriceError({ code, message: `--model ${model}: ${message}` });
}
