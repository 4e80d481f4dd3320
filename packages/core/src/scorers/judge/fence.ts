/**
 * A text of unknown origin between two marks that it does not contain, so that nothing in it can pass for what stands
 * around it.
 */
export function fence(name: string, text: string): string {
  let mark = '====';
  while (text.includes(mark)) mark += '=';
  return `${mark} ${name} begins ${mark}\n${text}\n${mark} ${name} ends ${mark}`;
}
