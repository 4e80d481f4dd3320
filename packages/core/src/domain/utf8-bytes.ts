/** Counts the bytes of a text in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair is two of its four bytes.
    bytes += unit < 0x8_00 || (unit >= 0xd8_00 && unit <= 0xdf_ff) ? 1 : 2;
  }
  return bytes;
}
