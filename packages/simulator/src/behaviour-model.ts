import { type Random, seededRandom } from '@thrice/core';
import { type ApiError, modelNotFound } from './api-error.ts';
import { type RequestedCell, replicateOf } from './cell-key.ts';
import { composeResult } from './compose-result.ts';
import { drawNormal } from './draw.ts';
import { judgePrompt } from './judge-prompt.ts';
import type { Behaviour, Distribution, JudgeBehaviour, ModelBehaviour } from './load-behaviour.ts';
import type { PromptRequest } from './prompt-request.ts';
import { createQuestionFinder } from './question-finder.ts';
import {
  cutAtLimit,
  estimateTokens,
  type ModelAnswer,
  type SimulatedModel,
  stateConfidence,
} from './simulated-model.ts';
import type { SimulatedQuestion } from './simulated-question.ts';
import { STRUCTURE_REFUSALS } from './structure-refusals.ts';

/** A model's answer to an unknown question. */
const unknownAnswerText = 'I do not know.';
/** A model's answer when it reaches no result. */
const unparsedAnswerText = 'I could not settle on one result here.';

/** A judge's reply that is no verdict. */
const unparsedVerdictText = 'This is an interesting answer, and there is much to say about it.';

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
 * replicates differ, and the order of requests does not matter. A verdict also depends on the config, the step and the
 * prompt: each judge of each answer has one of its own, and says the same when it is asked the same again.
 *
 * A model that is asked for its confidence states its accuracy.
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
    const replicate = cell === undefined ? '' : replicateOf(cell.run);
    const { seed } = behaviour;
    if (model.judge !== undefined) {
      const { config = '', id = '', step = '' } = cell ?? {};
      const { userText: prompt = '' } = request;
      const random = seededRandom(seed, request.model, replicate, config, id, step, prompt);
      return cutAtLimit(composeVerdict({ ...model, judge: model.judge }, prompt, random), request);
    }
    const question = findQuestion(request, cell);
    const questionName = question?.id ?? request.question ?? '';
    const random = seededRandom(seed, request.model, replicate, questionName);
    if (request.confidence === 'structured' && model.refusesStructuredOutput !== undefined)
      return STRUCTURE_REFUSALS[model.refusesStructuredOutput];
    const stated = stateConfidence(composeAnswer(model, question, random), model.accuracy, request);
    return cutAtLimit(stated, request);
  }

  return { modelNames: behaviours.has(anyModel) ? [] : modelNames, answer };
}

/** What is drawn for each answer. */
interface Drawn {
  readonly isRight: boolean;
  readonly isUnparsed: boolean;
  readonly latencyMs: number;
  readonly outputTokens: number | undefined;
  readonly reasoningTokens: number;
}

/** Always draws everything in this order, so that changing one setting leaves other decisions unchanged. */
function draw(model: ModelBehaviour, random: Random): Drawn {
  return {
    isRight: random() < model.accuracy,
    isUnparsed: random() < (model.unparsedRate ?? 0),
    latencyMs: drawAmount(model.latencyMs, random) ?? 0,
    outputTokens: drawAmount(model.outputTokens, random),
    reasoningTokens: Math.round(drawAmount(model.reasoningTokens, random) ?? 0),
  };
}

function composeAnswer(
  model: ModelBehaviour,
  question: SimulatedQuestion | undefined,
  random: Random,
): ModelAnswer {
  const drawn = draw(model, random);
  const { isRight, isUnparsed } = drawn;
  const result = question === undefined ? undefined : composeResult(question, isRight, random);
  const text = composeText({
    result: isUnparsed && result !== undefined ? unparsedAnswerText : result,
    isStated: !isUnparsed,
    style: model.style ?? 'bare',
    tokens: drawn.outputTokens ?? 0,
  });
  return toAnswer(text, drawn);
}

function composeVerdict(
  model: ModelBehaviour & { readonly judge: JudgeBehaviour },
  prompt: string,
  random: Random,
): ModelAnswer {
  const drawn = draw(model, random);
  const { isRight, isUnparsed } = drawn;
  const text = isUnparsed
    ? unparsedVerdictText
    : judgePrompt(prompt, model.judge, { isFlipped: !isRight, random });
  return toAnswer(text, drawn);
}

function toAnswer(
  text: string,
  { latencyMs, outputTokens: drawnOutputTokens, reasoningTokens }: Drawn,
): ModelAnswer {
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
function drawAmount(distribution: Distribution | undefined, random: Random): number | undefined {
  const normal = drawNormal(random);
  if (distribution === undefined) return undefined;
  if ('fixed' in distribution) return distribution.fixed;
  const { median } = distribution;
  if (median === 0) return 0;
  const sigma = Math.log((distribution.p99 ?? median * defaultP99Ratio) / median) / normalP99;
  return median * Math.exp(sigma * normal);
}
