/**
 * Names of the tags that models put around their reasoning.
 *
 * @see https://github.com/vllm-project/vllm/tree/main/vllm/reasoning (2026-11): `think`, `seed:think`
 * @see https://github.com/open-webui/open-webui/blob/main/backend/open_webui/utils/middleware.py
 *   (`DEFAULT_REASONING_TAGS`): `thinking`, `reason`, `reasoning`, `thought`
 */
const TAG = '(?:think|thinking|thought|reason|reasoning|seed:think|mm:think|scratchpad)';

/**
 * Marks that stand in place of tags: Mistral, Kimi, Cohere, Apertus, OpenThoughts and Gemma 4.
 *
 * @see https://github.com/vllm-project/vllm/tree/main/vllm/reasoning (2026-11)
 */
const OPENING = [
  `<${TAG}>`,
  String.raw`\[THINK\]`,
  '◁think▷',
  String.raw`<\|START_THINKING\|>`,
  String.raw`<\|inner_prefix\|>`,
  String.raw`<\|begin_of_thought\|>`,
  String.raw`<\|channel>thought\b`,
];
const CLOSING = [
  `</${TAG}>`,
  String.raw`\[/THINK\]`,
  '◁/think▷',
  String.raw`<\|END_THINKING\|>`,
  String.raw`<\|inner_suffix\|>`,
  String.raw`<\|end_of_thought\|>`,
  '<channel\\|>',
  // Apriel opens its reasoning in plain words only ("Here are my reasoning steps:").
  String.raw`\[BEGIN FINAL RESPONSE\]`,
];
const MARK = new RegExp(`(?<opening>${OPENING.join('|')})|(?:${CLOSING.join('|')})`, 'giu');
/** What some models put around the answer, once the reasoning is gone. */
const ANSWER_MARK =
  /<\|(?:START|END)_(?:RESPONSE|TEXT)\|>|\[END FINAL RESPONSE\]|<\|(?:begin|end)_of_solution\|>/gu;

/** Granite has no marks but these words; either may also occur alone, in an answer. */
const GRANITE = /^\s*here(?:'s| is) my thought \w+:/iu;
const GRANITE_RESPONSE = /\bhere(?:'s| is) my response:/giu;

/**
 * Removes the reasoning that a model wrote into its text, so that no scorer takes a thought for the answer.
 *
 * Removed are reasoning in tags or marks, also if it never ends; everything before a closing mark without an
 * opening one, which a chat template may have put into the prompt; and all channels of gpt-oss but the final one.
 *
 * @returns The text itself if it has no reasoning; empty if it has nothing else.
 */
export function stripReasoning(text: string): string {
  const answer = stripMarked(stripWorded(stripChannels(text)));
  return answer === text ? text : answer.replaceAll(ANSWER_MARK, '').trimStart();
}

function stripMarked(text: string): string {
  let kept = '';
  /** What was kept before a closing mark without an opening one; undefined before the first block. */
  let keptBefore: string | undefined;
  let keptFrom = 0;
  let isReasoning = false;
  for (const { isOpening, start, end } of findMarks(text)) {
    if (!isReasoning) kept += text.slice(keptFrom, start);
    if (!isOpening && !isReasoning) {
      keptBefore = keptFrom === 0 ? undefined : kept;
      kept = '';
    }
    isReasoning = isOpening;
    keptFrom = end;
  }
  if (!isReasoning) kept += text.slice(keptFrom);
  // A second closing mark at the end of an answer closes nothing.
  return kept.trim() === '' ? (keptBefore ?? kept) : kept;
}

interface Mark {
  readonly isOpening: boolean;
  readonly start: number;
  readonly end: number;
}

function* findMarks(text: string): Generator<Mark> {
  let from = 0;
  /** Whether a span of code is open, on the last line since the last mark. */
  let isInSpan = false;
  for (const { 0: mark, index: start, groups } of text.matchAll(MARK)) {
    const end = start + mark.length;
    isInSpan = endsInSpan(text.slice(from, start), isInSpan);
    from = end;
    if (isInSpan && isQuoted(text, start, end)) continue;
    isInSpan = false;
    yield { isOpening: groups?.['opening'] !== undefined, start, end };
  }
}

/** Whether a text ends within a span of code: after an odd number of backticks on its last line. */
function endsInSpan(text: string, isInSpan: boolean): boolean {
  const lineIndex = text.lastIndexOf('\n') + 1;
  const count = text.slice(lineIndex).split('`').length - 1;
  const isOdd = count % 2 === 1;
  return lineIndex > 0 ? isOdd : isOdd !== isInSpan;
}

/** Whether a mark stands in backticks of its own: it is spoken of, not used. */
function isQuoted(text: string, start: number, end: number): boolean {
  return text[start - 1] === '`' && text[end] === '`' && text[end + 1] !== '`';
}

/**
 * Keeps the final channel of a gpt-oss text, with its special tokens or with their bare names, which
 * remain where a server drops special tokens (`analysisWe need ...assistantfinalThe answer is B`).
 *
 * @see https://github.com/openai/harmony/blob/main/docs/format.md#channels
 * @see https://github.com/oobabooga/textgen/issues/7374
 */
function stripChannels(text: string): string {
  if (text.includes('<|channel|>')) {
    const [, ...messages] = text.split('<|channel|>');
    return messages
      .filter((message) => message.startsWith('final'))
      .map(
        (message) => message.slice(contentIndex(message)).split(/<\|(?:end|return|start)\|>/u)[0],
      )
      .join('\n');
  }
  const finalIndex = text.lastIndexOf('assistantfinal');
  if (finalIndex !== -1) return text.slice(finalIndex + 'assistantfinal'.length);
  return /^analysis\p{Lu}/u.test(text) ? '' : text;
}

function contentIndex(message: string): number {
  const markIndex = message.indexOf('<|message|>');
  return markIndex === -1 ? 'final'.length : markIndex + '<|message|>'.length;
}

/** @see https://github.com/vllm-project/vllm/blob/main/vllm/reasoning/granite_reasoning_parser.py */
function stripWorded(text: string): string {
  if (!GRANITE.test(text)) return text;
  const [response] = text.matchAll(GRANITE_RESPONSE);
  return response === undefined ? text : text.slice(response.index + response[0].length);
}
