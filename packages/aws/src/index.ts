/** The engine in the cloud: SQS for tasks, one DynamoDB table as ledger, S3 for artifacts. */

export { DynamoLedger } from './dynamo-ledger.ts';
export { DynamoWatchlist } from './dynamo-watchlist.ts';
export { mapSdkError } from './map-sdk-error.ts';
export { S3BlobStore } from './s3-blob-store.ts';
export { SqsDeadLetterScan } from './sqs-dead-letter-scan.ts';
export { SqsDeadLetters } from './sqs-dead-letters.ts';
export { SqsGroupRequests } from './sqs-group-requests.ts';
export { type PoisonMessage, parseCellTask, SqsTaskQueue } from './sqs-task-queue.ts';
export { findStage, type Stage, stageSchema } from './stage.ts';
