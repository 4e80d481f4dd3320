import { describeJsonError } from '@thrice/core';
import { TomlError } from 'smol-toml';

/** What to do about a mistake that `smol-toml` names, by a part of its reason. */
const TOML_REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/escape/, 'write the path with "/", or between single quotes'],
  [/invalid value/, 'texts stand between straight quotation marks; true and false are lower-case'],
  [/redefine/, 'it is there already: leave one of them out'],
  [
    /unfinished string|control characters/,
    'a text ends with the mark that it begins with; one of several lines stands between """',
  ],
  [/table( array)? declaration/, 'a table is written as [lanes.NAME], a config as [[configs]]'],
  [/end-of-line|illegal character/, 'a line has one key = value, or a table, or # and a comment'],
];

/**
 * Describes why a spec cannot be parsed, and what it seems to be.
 *
 * @param file - Its name decides what it should be: JSON where it ends with `.json`, else TOML.
 */
export function describeSyntax(error: unknown, text: string, file: string): string {
  const isJson = file.endsWith('.json');
  const other = describeOther(text, file, isJson);
  if (other !== undefined) return `expected ${isJson ? 'JSON' : 'TOML'}, received ${other}`;
  if (!(error instanceof TomlError)) return `expected JSON (${describeJsonError(error, text)})`;
  const [reason = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
  const remedy = TOML_REMEDIES.find(([pattern]) => pattern.test(reason))?.[1];
  const place = `line ${error.line}, column ${error.column}: ${reason}`;
  return `expected TOML (${place})${remedy === undefined ? '' : `; ${remedy}`}`;
}

/** What a file is that is no spec, and what to do; undefined where it cannot be told. */
function describeOther(text: string, file: string, isJson: boolean): string | undefined {
  if (text.trim() === '' && isJson) return 'an empty file; thrice init writes a spec to start from';
  if (text.includes('\u0000')) return 'UTF-16 or binary data; save it as UTF-8';
  const start = text.trimStart();
  if (file.endsWith('.jsonl') || file.endsWith('.csv') || file.endsWith('.parquet'))
    return 'a file of questions; name it in a spec: questions = "..."';
  if (isJson && start !== '' && !/^[[{"]/.test(start))
    return 'TOML; give it a name that ends in .toml';
  if (!isJson && start.startsWith('{')) return 'JSON; give it a name that ends in .json';
  if (/\.ya?ml$/.test(file) || (!isJson && /^[\w-]+:(\s|$)/m.test(start)))
    return 'YAML; write it as TOML: key = value, and [[configs]] above the keys of each config';
  return undefined;
}
