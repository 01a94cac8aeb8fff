export type { Approval, ApprovalAnswer, ApprovalPage, GivenApproval } from './approvals.ts';
export { Archive, type ArchiveOptions, type KnownManifest } from './archive.ts';
export { askedBy } from './asked.ts';
export { WorkflowCancelledError } from './attempts.ts';
export { type Loop, startLoop } from './backoff.ts';
export { BlobLog, type BlobLogOptions } from './blob-log.ts';
export { type BlobRowsOptions, storeWithBlobs } from './blob-rows.ts';
export type { SweepReport } from './blob-sweep.ts';
export { type BlobStores, Blobs } from './blobs.ts';
export { type BulkJob, type BulkRequest, bulkHost } from './bulk.ts';
export type { BulkCount } from './bulk-count.ts';
export { bulkDefinition } from './bulk-definition.ts';
export { continuedAs, continuesFrom, currentOf, isContinued, lastOf } from './chain.ts';
export { Client } from './client.ts';
export type { BudgetRaise, ClientMemory, RememberOptions } from './client-memory.ts';
export { Compactor, type CompactorOptions, type CompactorPolicy, type PassReport } from './compactor.ts';
export {
  type ComparedPoint,
  type ComparedWorkflow,
  type Comparison,
  compareWorkflows,
  type Totals,
} from './compare.ts';
export { undoId } from './compensation.ts';
export { Coordinator, type CoordinatorOptions } from './coordinator.ts';
export { type DataKey, DataKeys, type DataKeysOptions, type RewrapProgress } from './data-keys.ts';
export {
  type Confirmation,
  checkedDuration,
  checkName,
  type Decision,
  fittingResolutions,
  RESOLUTIONS,
} from './decision-checks.ts';
export type { Decided, Pin, SignalOptions } from './decisions.ts';
export type {
  ApprovalOptions,
  Budget,
  ConfirmationPolicy,
  ContextDefinition,
  Definition,
  EffectContext,
  EffectDefinition,
  FragmentDraft,
  MemoryEntry,
  MemoryQuery,
  MemoryUpdate,
  Parse,
  PhaseDefinition,
  PhaseMemory,
  ProbeContext,
  ProbeResult,
  Progress,
  RunOptions,
  Seal,
  SignalForm,
  StepContext,
  StepDefinition,
  StepResult,
  TaskRequest,
  Upcaster,
  WaitRequest,
} from './definition.ts';
export { PendingResult } from './definition.ts';
export { type Deletion, type DeletionReads, toldDeletions } from './deletions.ts';
export { Demand, type Demands, ONE_POOL, type Pool, type PoolDemand } from './demand.ts';
export { answerInTime } from './effect-call.ts';
export type { CallEffect } from './effect-journal.ts';
export type { FoldedEvent, TraceSink } from './folded-event.ts';
export { type ForgetCertificate, type ForgetRequest, forget } from './forgetting.ts';
export { isEndForgotten, isForgotten } from './forgotten.ts';
export type { Forked, ForkOptions } from './fork.ts';
export { type GrowthOptions, type LogGrowth, startGrowthReport } from './growth.ts';
export { check, type Health, type HealthCheck, recentCheck } from './health.ts';
export { type HeldQueue, HeldQueues, HeldSet, type Queued } from './held-queues.ts';
export { type Draft, HeldStream, type HeldStreamOptions } from './held-stream.ts';
export { KeylessLog } from './keyless-log.ts';
export {
  LIFECYCLE_ACTS,
  type LifecycleAct,
  type LifecycleAsk,
  type LifecycleDone,
} from './lifecycle.ts';
export { CATCH_UP_MAX_COUNT, CRON_MAX_CHARS, MEMORIES_PER_CHECKPOINT_MAX } from './limits.ts';
export { readsOf } from './lineage.ts';
export { loggedStore } from './logged-store.ts';
export { type LostTail, lostTail } from './lost-tail.ts';
export { memoryWorkflow } from './memory-streams.ts';
export type {
  Model,
  ModelAnswer,
  ModelContext,
  ModelDelta,
  ModelPrompt,
  ModelRequest,
  ModelToolCall,
  ToolSpec,
  Usage,
} from './model.ts';
export {
  type BudgetPeriod,
  parseBudget,
  type SharedBudget,
  type SharedSpend,
  sharedSpends,
  spentByWorkflow,
} from './model-budgets.ts';
export { MODEL_OPERATION } from './model-calls.ts';
export { ACCESS_SUBJECT, BULK_ACTS, type BulkAct, OVERLAPS, type Overlap } from './names.ts';
export { Pace } from './pace.ts';
export type { Admission } from './placing.ts';
export { type ColdHistory, LamportClock, type Ports, type SessionMemory } from './ports.ts';
export { ProjectedKeyStore } from './projected-keys.ts';
export type { QueueChanged, QueueName, QueueSight, QueueState } from './queues.ts';
export { type CallRange, type RebuiltCall, type RebuiltCalls, rebuildCalls } from './rebuild-bundle.ts';
export { Recalls } from './recalls.ts';
export type { Judgement, RecordJudged } from './record-judgements.ts';
export {
  askable,
  type PlannedEffect,
  type PlannedNext,
  type PlannedOutcome,
  type RecoveryFacts,
  type RecoveryPlan,
  recoveryPlan,
} from './recovery-plan.ts';
export { Restorer, type RestoreState } from './restorer.ts';
export { DEFAULT_RETENTION, type LegalHold, type RetentionPolicy } from './retention-policy.ts';
export { DEFAULT_RETRY, type RetryPolicy } from './retry.ts';
export { contentsThrough, type ViewOf } from './row-contents.ts';
export { type RebuildProgress, RowsRebuild, type RowsRebuildOptions } from './rows-rebuild.ts';
export { Run } from './run.ts';
export { WorkflowFailedError } from './run-outcome.ts';
export type { ScheduleSpec } from './schedule-spec.ts';
export { type ScheduleOptions, type ScheduleState, scheduleHost } from './schedules.ts';
export { PLAIN_REFUSED, SealedLog } from './sealed-log.ts';
export { sealedStore } from './sealed-store.ts';
export { SealedWatch } from './sealed-watch.ts';
export { maskedStore } from './secrets.ts';
export {
  type BriefReads,
  type HandOverBrief,
  type QuestionBrief,
  type SessionBrief,
  sessionBrief,
  type TaskBrief,
  type WorkflowBrief,
} from './session-brief.ts';
export { type SessionHandOver, type SessionMemoryOptions, sessionMemory, summaryIn } from './session-memory.ts';
export type { PromoteOptions, ShadowAccount, ShadowPromotion, ShadowRefusal } from './shadow-account.ts';
export type { ShadowDefinition, ShadowTask } from './shadow-definition.ts';
export { SHADOW_OBSERVE_MS, SHADOW_SHARES, SHADOW_WORKFLOWS_MIN } from './shadow-limits.ts';
export type { ShadowDifference } from './shadow-rebuild.ts';
export type { StepReport } from './shadow-report.ts';
export type { ShadowRollout } from './shadow-rollout.ts';
export type { ShadowCounts, ShadowRun } from './shadow-run.ts';
export type { ShadowShare } from './shadow-share.ts';
export { type ShadowOptions, Shadows } from './shadows.ts';
export type { StartOptions } from './start-options.ts';
export { EffectError, FatalError, NotDoneError, ParkError } from './step-errors.ts';
export { storableText } from './storable-text.ts';
export { isRunnable } from './stream-rows.ts';
export { sessionSubject } from './summaries.ts';
export { sha256Digest, systemClock, systemPrng } from './system.ts';
export { SystemStream, type SystemStreamName, SystemStreams, type SystemStreamsOptions } from './system-stream.ts';
export { TieredLog } from './tiered-log.ts';
export { tieredStore } from './tiered-store.ts';
export type { ToldDelta } from './told-delta.ts';
export {
  childSpan,
  compensationSpan,
  effectSpan,
  isInShare,
  leaseSpan,
  queueSpan,
  recoverySpan,
  type SpanId,
  stepSpan,
  type TraceId,
  traceIdOf,
  traceParentOf,
  waitSpan,
  workflowSpan,
} from './trace-ids.ts';
export { type LeftThing, type UndoOutput, withUndos } from './undo-definition.ts';
export {
  type ArchiveProblem,
  type ArchiveVerdict,
  type ChainEnd,
  type DeletionsEnd,
  type VerifyOptions,
  verifyArchive,
} from './verify-archive.ts';
export { definitionFor } from './versions.ts';
export {
  type Preflight,
  type PreflightGroup,
  type PreflightProblem,
  PreflightReport,
  type PreflightVerdict,
  preflight,
} from './versions-preflight.ts';
export { wordlessStore } from './wordless-store.ts';
export { type Uncheckpointed, Worker, type WorkerOptions } from './worker.ts';
export { type PastWorkflow, workflowAt } from './workflow-at.ts';
export {
  type AcceptedEvent,
  eventsThrough,
  openingOffset,
  StreamFold,
  type StreamPlacement,
} from './workflow-events.ts';
export { WorkflowKeys } from './workflow-keys.ts';
export { TAG_MAX_CHARS, TAGS_MAX_COUNT, WORKFLOW_ID_MAX_CHARS } from './workflow-name.ts';
export type { HandOver } from './working-memory.ts';
