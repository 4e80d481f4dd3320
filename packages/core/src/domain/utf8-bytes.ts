/** Counts the bytes of a text in UTF-8. Half of a surrogate pair alone is written as U+FFFD. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const point = text.codePointAt(index) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x8_00 ? 2 : point < 0x1_00_00 ? 3 : 4;
    if (point > 0xff_ff) index += 1;
  }
  return bytes;
}
