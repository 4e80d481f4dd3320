/** Counts the bytes of a text in UTF-8. Half of a surrogate pair alone is written as U+FFFD. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; ) {
    const point = text.codePointAt(index) ?? 0;
    bytes += bytesOf(point);
    index += point > 0xff_ff ? 2 : 1;
  }
  return bytes;
}

function bytesOf(point: number): number {
  if (point < 0x80) return 1;
  if (point < 0x8_00) return 2;
  return point <= 0xff_ff ? 3 : 4;
}
