/**
 * Returns the value for a name.
 *
 * @throws Error when there is none: the stack is inconsistent.
 */
export function entryOf<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined) throw new Error(`the stack has no ${name}`);
  return value;
}
