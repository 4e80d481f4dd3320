/** The engine in the cloud: SQS for tasks, one DynamoDB table as ledger, S3 for artifacts. */

export { DynamoActiveGroups } from './dynamo-active-groups.ts';
export { DynamoLedger } from './dynamo-ledger.ts';
export { mapSdkError } from './map-sdk-error.ts';
export { S3BlobStore } from './s3-blob-store.ts';
export { SqsDeadLetterQueue } from './sqs-dead-letter-queue.ts';
export { SqsDlqScan } from './sqs-dlq-scan.ts';
export { SqsGroupRequests } from './sqs-group-requests.ts';
export { type PoisonMessage, parseCellTask, SqsTaskQueue } from './sqs-task-queue.ts';
export { findStage, type Stage, stageSchema } from './stage.ts';
