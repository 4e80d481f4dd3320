/** An empty text, or a slash before each key: `/answer/0/value`. */
export const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/u;

/** Follows a JSON Pointer. @returns Undefined where it leads nowhere. @see https://www.rfc-editor.org/rfc/rfc6901 */
export function followPointer(value: unknown, pointer: string): unknown {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  let place = value;
  for (const key of keys) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return undefined;
    if (Array.isArray(place) && !/^(?:0|[1-9]\d*)$/u.test(key)) return undefined;
    place = (place as Readonly<Record<string, unknown>>)[key];
  }
  return place;
}
