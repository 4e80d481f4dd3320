/**
 * Serializes a value as JSON and escapes the two characters that SQS rejects: U+FFFE and U+FFFF.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html (2026-11)
 */
export function toMessageText(value: unknown): string {
  return JSON.stringify(value).replace(/[\uFFFE\uFFFF]/g, (character) =>
    character === '\uFFFE' ? '\\ufffe' : '\\uffff',
  );
}
