import type { CellRow } from '@thrice/core';
import { plainText } from '../shell/terminal.ts';

/** Characters of a text that are shown: its end, where an answer would be. */
const TEXT_CHARS = 2000;

/** Renders a cell without a readable answer: where it is, why it has none, and what the model said. */
export function renderUnparsed(row: CellRow): string {
  const { run, config, id, reason, finishReason } = row;
  const title = `── ${run} ${config} ${id}: ${reason ?? 'unparsed'}, finish reason ${finishReason ?? 'unknown'} ──`;
  return plainText(`${title}\n${showText(row)}`);
}

/** A cell without a readable answer, in the document of `thrice show --unparsed --json`. */
export function unparsedToJson(row: CellRow): unknown {
  const { run, config, id, reason, finishReason, hasReasoning, target, output, refusal } = row;
  return { run, config, id, reason, finishReason, hasReasoning, target, output, refusal };
}

function showText({ output, refusal }: CellRow): string {
  const text = refusal ?? output;
  if (text === null) return '(no text)';
  if (text.trim() === '') return '(empty text)';
  if (text.length <= TEXT_CHARS) return text;
  const shown = text.slice(-TEXT_CHARS).toWellFormed();
  return `(the last ${TEXT_CHARS} of ${text.length} characters)\n${shown}`;
}
