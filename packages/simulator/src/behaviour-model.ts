import { type ApiError, modelNotFound } from './api-error.ts';
import { type RequestedCell, replicateOf } from './cell-key.ts';
import { composeResult } from './compose-result.ts';
import type { Behaviour, Distribution, ModelBehaviour } from './load-behaviour.ts';
import type { PromptRequest } from './prompt-request.ts';
import { createQuestionFinder } from './question-finder.ts';
import { drawNormal, type RandomStream, seededRandom } from './seeded-random.ts';
import {
  cutAtLimit,
  estimateTokens,
  type ModelAnswer,
  type SimulatedModel,
} from './simulated-model.ts';
import type { SimulatedQuestion } from './simulated-question.ts';

/** A model's answer to an unknown question. */
const unknownAnswerText = 'I do not know.';
/** A model's answer when it reaches no result. */
const unparsedAnswerText = 'I could not settle on one result here.';

const anyModel = '*';
const defaultP99Ratio = 4;
/** The 99th percentile of the standard normal distribution. */
const normalP99 = 2.3263478740408408;
/** The maximum length of the filler before the result. Further tokens are counted but not written. */
const maxFillerChars = 20_000;
const filler =
  'Let us look at this step by step and weigh what is given against what is asked. ' +
  'The wording rules out the obvious shortcut, so each part is checked on its own. ';

/**
 * Simulates models with a given accuracy, latency and verbosity.
 *
 * Every decision depends only on (seed, model, replicate, question): each run of a benchmark gets the same answers,
 * replicates differ, and the order of requests does not matter.
 */
export function createBehaviourModel(
  behaviour: Behaviour,
  questions: Iterable<SimulatedQuestion>,
): SimulatedModel {
  const findQuestion = createQuestionFinder(questions);
  const modelNames = Object.keys(behaviour.models).filter((name) => name !== anyModel);
  const behaviours = new Map(Object.entries(behaviour.models));

  function answer(request: PromptRequest, cell: RequestedCell | undefined): ModelAnswer | ApiError {
    const model = behaviours.get(request.model) ?? behaviours.get(anyModel);
    if (model === undefined) return modelNotFound(request.model);
    const question = findQuestion(request, cell);
    const questionName = question?.id ?? request.question ?? '';
    const replicate = cell === undefined ? '' : replicateOf(cell.run);
    const random = seededRandom(behaviour.seed, request.model, replicate, questionName);
    return cutAtLimit(composeAnswer(model, question, random), request);
  }

  return { modelNames: behaviours.has(anyModel) ? [] : modelNames, answer };
}

function composeAnswer(
  model: ModelBehaviour,
  question: SimulatedQuestion | undefined,
  random: RandomStream,
): ModelAnswer {
  // Always draw everything in this order, so that changing one setting leaves other decisions unchanged.
  const isRight = random() < model.accuracy;
  const isUnparsed = random() < (model.unparsedRate ?? 0);
  const latencyMs = drawAmount(model.latencyMs, random) ?? 0;
  const drawnOutputTokens = drawAmount(model.outputTokens, random);
  const reasoningTokens = Math.round(drawAmount(model.reasoningTokens, random) ?? 0);

  const result = question === undefined ? undefined : composeResult(question, isRight, random);
  const text = composeText({
    result: isUnparsed && result !== undefined ? unparsedAnswerText : result,
    isStated: !isUnparsed,
    style: model.style ?? 'bare',
    tokens: drawnOutputTokens ?? 0,
  });
  const outputTokens = Math.round(drawnOutputTokens ?? estimateTokens(text.length));
  return {
    text,
    finishReason: 'stop',
    completionTokens: outputTokens + reasoningTokens,
    reasoningTokens,
    latencyMs,
  };
}

function composeText(input: {
  readonly result: string | undefined;
  readonly isStated: boolean;
  readonly style: 'bare' | 'sentence';
  readonly tokens: number;
}): string {
  const { result, isStated, style, tokens } = input;
  if (result === undefined) return unknownAnswerText;
  if (style === 'bare') return result;
  const ending = isStated ? `The answer is ${result}.` : result;
  const fillerChars = Math.min(Math.max(tokens * 4 - ending.length, 0), maxFillerChars);
  const sentences = Math.max(Math.round(fillerChars / (filler.length / 2)), 1);
  return `${fillerOf(sentences)}${ending}`;
}

function fillerOf(sentences: number): string {
  const pairs = filler.repeat(Math.floor(sentences / 2));
  return sentences % 2 === 0 ? pairs : pairs + filler.slice(0, filler.indexOf('. ') + 2);
}

/** Always takes two draws, whatever the distribution, so that streams stay aligned. */
function drawAmount(
  distribution: Distribution | undefined,
  random: RandomStream,
): number | undefined {
  const normal = drawNormal(random);
  if (distribution === undefined) return undefined;
  if ('fixed' in distribution) return distribution.fixed;
  const { median } = distribution;
  if (median === 0) return 0;
  const sigma = Math.log((distribution.p99 ?? median * defaultP99Ratio) / median) / normalP99;
  return median * Math.exp(sigma * normal);
}
