/**
 * The domain of Thrice: what a benchmark is, how its cells are answered, what its figures mean.
 *
 * Words, one each: a **question** is a dataset row; a **config** a named system under test; a
 * **replicate** one independent repetition of the grid; a **group** the replicates started together;
 * a **run** one replicate of a group; a **cell** the unit of work, keyed (run, id, config); an
 * **attempt** one delivery of a cell to a worker; a **call** one paid request inside a cell; a **lane**
 * a provider account or endpoint pool; the **ledger** the store of groups, cells and calls; a **blob**
 * an artifact.
 */

export type { Benchmark, Config, Lane } from './domain/benchmark.ts';
export { type BenchmarkSpec, benchmarkSpecSchema, type Select } from './domain/benchmark-spec.ts';
export { breakerKeysOf, laneOf, type OpenBreaker, openBreakerSchema } from './domain/breaker.ts';
export {
  type Call,
  callSchema,
  type FinishReason,
  type JournalEntry,
  journalEntrySchema,
  type ModelOutput,
} from './domain/call.ts';
export {
  type Attempt,
  attemptSchema,
  type CellError,
  type CellKey,
  type CellRecord,
  type CellResult,
  type CellRow,
  cellResultSchema,
  cellRowSchema,
  hasScore,
  type Outcome,
} from './domain/cell.ts';
export { type CellTask, cellTaskSchema, type QuestionRange } from './domain/cell-task.ts';
export {
  type CellDlqEntry,
  type DlqEntry,
  errorOfEntry,
  type UnreadableDlqEntry,
} from './domain/dlq-entry.ts';
export { type DlqMessage, dlqMessageSchema } from './domain/dlq-message.ts';
export {
  type GroupHeader,
  type GroupState,
  groupHeaderSchema,
  groupOfRun,
  groupStateSchema,
  type SourceFile,
} from './domain/group.ts';
export {
  type DispatchRequest,
  dispatchRequestSchema,
  type ResultRequest,
  resultRequestSchema,
  type WalkPosition,
} from './domain/group-request.ts';
export { type Message, messageSchema, type Question, questionSchema } from './domain/question.ts';
export {
  assertNever,
  classOfCode,
  type ErrorClass,
  type ErrorCode,
  type ErrorDetails,
  errorCodesByClass,
  ThriceError,
  toThriceError,
} from './errors.ts';
export { limits } from './limits.ts';
export { mapBounded, pagesOf } from './map-bounded.ts';
export { SIMULATOR_LANE } from './planning/builtin-lanes.ts';
export { checkQuestions } from './planning/check-questions.ts';
export { directPrefix } from './planning/datasets/bbh.ts';
export { describeIssues } from './planning/describe-issues.ts';
export { describeJsonError } from './planning/describe-json-error.ts';
export { loadQuestions, openQuestions, type QuestionSource } from './planning/load-questions.ts';
export { suggestName } from './planning/nearest-name.ts';
export { type ParsedRow, parseQuestionRow } from './planning/parse-question-row.ts';
export { invalidSpec, parseSpec } from './planning/parse-spec.ts';
export { checkTemplate, renderPrompt } from './planning/render-prompt.ts';
export { defaultName, resolveBenchmark } from './planning/resolve-benchmark.ts';
export { createSelector } from './planning/select-questions.ts';
export type { ActiveGroup, ActiveGroups, DeferredCells } from './ports/active-groups.ts';
export type { BlobStore } from './ports/blob-store.ts';
export type { Clock } from './ports/clock.ts';
export type { DeadLetterQueue } from './ports/dead-letter-queue.ts';
export type { CreateDigest, Digest } from './ports/digest.ts';
export type { DlqScan } from './ports/dlq-scan.ts';
export type { Governor, Slot } from './ports/governor.ts';
export type { GroupRequests, TaskCounter } from './ports/group-requests.ts';
export type { Claim, GroupRecord, Ledger, Tally } from './ports/ledger.ts';
export type { ModelClient, ModelRequest, ModelResponse, Usage } from './ports/model-client.ts';
export type { Random } from './ports/random.ts';
export type { SourceReader } from './ports/source-reader.ts';
export type { Delivery, TaskQueue } from './ports/task-queue.ts';
export { priceUsage } from './pricing/price-usage.ts';
export { renderSummary, renderTagTable } from './reports/summary-table.ts';
export { renderTable, type TableForm } from './reports/table.ts';
export { backoffMs } from './retry/backoff.ts';
export { decideNextStep, type NextStep } from './retry/decide-next-step.ts';
export { extractBbhAnswer } from './scoring/extract-bbh-answer.ts';
export { extractChoice } from './scoring/extract-choice.ts';
export { extractNumber } from './scoring/extract-number.ts';
export { type Grade, gradeAnswer, scorerVersions } from './scoring/grade-answer.ts';
export { bbhAverages } from './stats/bbh-averages.ts';
export { mean, quantile, sampleVariance, wilsonInterval } from './stats/describe-scores.ts';
export {
  type ConfigSummary,
  type ReplicateSummary,
  type Summary,
  summarySchema,
} from './stats/summary.ts';
export { SummaryBuilder } from './stats/summary-builder.ts';
export { type CopyCounts, type CopyOrder, copyGroup } from './usecases/copy-group.ts';
export { countDone, countPlanned, isCounted } from './usecases/count-cells.ts';
export { dispatchTasks } from './usecases/dispatch-tasks.ts';
export {
  describeError,
  executeCell,
  type Settlement,
  type Worker,
} from './usecases/execute-cell.ts';
export type { DlqFilter, DlqSelection } from './usecases/filter-messages.ts';
export {
  earlyExitCodes,
  finalizeGroup,
  groupKey,
  isPlanned,
  readRowFile,
  runKey,
} from './usecases/finalize-group.ts';
export { Heartbeat } from './usecases/heartbeat.ts';
export { isServedModel } from './usecases/is-served-model.ts';
export {
  type DlqCell,
  type DlqCellState,
  type DlqList,
  listMessages,
} from './usecases/list-messages.ts';
export {
  enqueueGroup,
  type GroupDraft,
  type PlanStores,
  planGroup,
  plannedConfigs,
  storePlan,
} from './usecases/plan-group.ts';
export { processTask, type TaskWorker } from './usecases/process-task.ts';
export { type Publication, publishResults } from './usecases/publish-results.ts';
export {
  parseStoredQuestion,
  readQuestion,
  readStoredQuestions,
} from './usecases/read-question.ts';
export { readRows } from './usecases/read-rows.ts';
export {
  type ReconcilerEvent,
  type ReconcilerStores,
  reconcileGroups,
} from './usecases/reconcile-groups.ts';
export {
  type DlqReport,
  dropMessages,
  type ReplayStores,
  replayMessages,
} from './usecases/replay-messages.ts';
export { rerunCells } from './usecases/rerun-cells.ts';
export {
  type ChooseTasks,
  chooseAll,
  chooseFailed,
  chooseMissing,
  sendTasks,
  type WalkEnd,
} from './usecases/send-tasks.ts';
export { type Verification, verifyGroup } from './usecases/verify-group.ts';
export type { WorkerEvent, WorkerObserver } from './usecases/worker-events.ts';
