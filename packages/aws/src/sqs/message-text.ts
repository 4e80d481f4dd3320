/**
 * JSON as SQS takes it: the two characters that JSON leaves as they are and SQS refuses are escaped.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html (2026-11)
 */
export function toMessageText(value: unknown): string {
  return JSON.stringify(value).replace(/[\uFFFE\uFFFF]/g, (character) =>
    character === '\uFFFE' ? '\\ufffe' : '\\uffff',
  );
}
