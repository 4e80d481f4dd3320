/** Every request that the answer function sends for a direct answer; docs/cloud.md lists them, and what each is for. */
export const answerRequests = {
  'sqs ChangeMessageVisibilityBatch': 1,
  'dynamodb BatchGetItem': 1,
  'dynamodb PutItem': 2,
  's3 GetObject': 1,
  'dynamodb UpdateItem': 2,
} as const;
