/** What a path that leads nowhere was meant to be, by what it has in it. */
const HABITS: readonly (readonly [RegExp, string])[] = [
  [/\/~\//, '; "~" is not expanded here: write the whole path'],
  [/\*/, '; patterns are not expanded here: write a list, as in ["a.jsonl", "b.jsonl"]'],
  [/\/[A-Za-z]:[\\/]/, '; this is a path of Windows, and this is not Windows'],
];

/** Says that there is no file at a path, and what seems to be the reason. */
export function describeMissing(path: string): string {
  const remedy = HABITS.find(([pattern]) => pattern.test(path))?.[1] ?? '; check the path';
  return `no such file${remedy}`;
}
