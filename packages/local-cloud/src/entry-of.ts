/** What a map has under a name; without it the stack is at odds with itself. */
export function entryOf<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined) throw new Error(`the stack has no ${name}`);
  return value;
}
