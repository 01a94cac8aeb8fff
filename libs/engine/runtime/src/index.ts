export { MEMORIES_PER_CHECKPOINT_MAX } from './agent/limits.ts';
export { memoryWorkflow } from './agent/memory-streams.ts';
export { sharedSpends, spentByWorkflow } from './agent/model-budgets.ts';
export { MODEL_OPERATION } from './agent/model-calls.ts';
export { type CallRange, type RebuiltCall, type RebuiltCalls, rebuildCalls } from './agent/rebuild-bundle.ts';
export { sessionBrief } from './agent/session-brief.ts';
export { sessionMemory, summaryIn } from './agent/session-memory.ts';
export { Archive } from './archive/archive.ts';
export { ColdReads } from './archive/cold-reads.ts';
export { Compactor, type CompactorPolicy, type PassReport } from './archive/compactor.ts';
export { type Deletion, recordedDeletions } from './archive/deletions.ts';
export { Restorer, type RestoreState } from './archive/restorer.ts';
export type { LegalHold, RetentionPolicy } from './archive/retention-policy.ts';
export { TieredLog } from './archive/tiered-log.ts';
export { tieredStore } from './archive/tiered-store.ts';
export { type ArchiveVerdict, type VerifyOptions, verifyArchive } from './archive/verify-archive.ts';
export { type BulkJob, bulkHost } from './client/bulk.ts';
export { Client, checkedStart } from './client/client.ts';
export type { ClientMemory } from './client/client-memory.ts';
export {
  type ComparedPoint,
  type ComparedWorkflow,
  type Comparison,
  compareWorkflows,
  type Totals,
} from './client/compare.ts';
export { type ForgetCertificate, type ForgetRequest, forget } from './client/forgetting.ts';
export type { QueueChanged, QueueName } from './client/queues.ts';
export type { Registration } from './client/registrations.ts';
export { Run } from './client/run.ts';
export { type ScheduleState, scheduleHost } from './client/schedules.ts';
export type { BulkAnswer } from './control/bulk-definition.ts';
export { CATCH_UP_MAX_COUNT, CRON_MAX_CHARS } from './control/limits.ts';
export { type PausedQueue, PausedQueues, QueuePauses } from './control/paused-queues.ts';
export { type PreflightGroup, PreflightReport, preflight } from './control/versions-preflight.ts';
export { Coordinator } from './coordinator/coordinator.ts';
export { Demand, type Pool, type PoolDemand } from './coordinator/demand.ts';
export { staffOf } from './coordinator/stuck.ts';
export { BEGIN_STEP } from './definition/begin-step.ts';
export { type CallLimit, callLimitProblems, callScopes } from './definition/call-limits.ts';
export type {
  ApprovalOptions,
  Beginning,
  Budget,
  ConfirmationPolicy,
  ContextDefinition,
  Definition,
  EffectContext,
  EffectDefinition,
  FragmentDraft,
  Journaled,
  MemoryEntry,
  MemoryQuery,
  MemoryUpdate,
  Parse,
  PhaseMemory,
  ProbeResult,
  Progress,
  RecalledMemories,
  RecallOptions,
  RunOptions,
  Seal,
  SignalForm,
  StepContext,
  StepDefinition,
  StepResult,
  TaskRequest,
  Upcaster,
  WaitRequest,
} from './definition/definition.ts';
export { PendingResult } from './definition/definition.ts';
export { dispatchOf } from './definition/dispatch.ts';
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
} from './definition/model.ts';
export type { CallDelta, ModelChunk } from './definition/model-chunk.ts';
export type { ShadowDefinition } from './definition/shadow-definition.ts';
export type { StartOptions } from './definition/start-options.ts';
export { EffectError, FatalError, NotDoneError, ParkError } from './definition/step-errors.ts';
export { ANY_STEP } from './definition/steps.ts';
export { noteUnprobed, unlistedWarnings, unprobedWords } from './definition/unprobed.ts';
export type { HandOver, PhaseDefinition } from './definition/working-memory.ts';
export { WorkflowCancelledError } from './effects/attempts.ts';
export { answerInTime } from './effects/effect-call.ts';
export type { CallEffect } from './effects/effect-run.ts';
export { CALL_WINDOW_MS } from './effects/limits.ts';
export { DataKeys } from './encryption/data-keys.ts';
export { ProjectedKeyStore } from './encryption/projected-keys.ts';
export { KEYLESS, PLAIN_REFUSED, SealedRecords } from './encryption/sealed-log.ts';
export { SealedTexts } from './encryption/sealed-store.ts';
export { SealedWatch } from './encryption/sealed-watch.ts';
export { maskedStore } from './encryption/secrets.ts';
export { WorkflowKeys } from './encryption/workflow-keys.ts';
export type { Forked, ForkOptions } from './forks/fork.ts';
export { DISCARDED_MAX_COUNT } from './forks/limits.ts';
export type { ResetOptions } from './forks/reset.ts';
export type { Becomes } from './forks/reset-plan.ts';
export { continuedAs, continuesFrom, lastOf, supersedes } from './history/chain.ts';
export { readsOf } from './history/lineage.ts';
export { type PastScope, type PhaseHandover, phaseHandovers, scopesAfter } from './history/memory-scopes.ts';
export { parkedQuestion } from './history/parked-question.ts';
export { haveRows } from './history/rows-catch-up.ts';
export { definitionFor } from './history/versions.ts';
export { workflowAt } from './history/workflow-at.ts';
export {
  type AcceptedEvent,
  eventsThrough,
  historyPage,
  openingOffset,
  StreamFold,
  type StreamPlacement,
} from './history/workflow-events.ts';
export type { GivenApproval } from './inbox/approvals.ts';
export type { Admission } from './inbox/placing.ts';
export { type Loop, startLoop, whileUnavailable } from './kernel/backoff.ts';
export { isEndForgotten, isForgotten } from './kernel/forgotten.ts';
export { startGrowthReport } from './kernel/growth.ts';
export { check, type Health, type HealthCheck, recentCheck } from './kernel/health.ts';
export { refuseUnknownOptions } from './kernel/known-options.ts';
export { ACCESS_SUBJECT, BULK_ACTS, OVERLAPS, workflowStarting } from './kernel/names.ts';
export { overridden } from './kernel/overridden.ts';
export { Pace } from './kernel/pace.ts';
export { plainJson } from './kernel/plain-json.ts';
export { type ColdHistory, LamportClock, type Ports } from './kernel/ports.ts';
export { DEFAULT_RETRY, type RetryOptions, type RetryPolicy, retryPolicy } from './kernel/retry.ts';
export type { Guarded, OnSecret, SecretPolicy, StoredSecret } from './kernel/secret-guard.ts';
export { storableText } from './kernel/storable-text.ts';
export { sha256Digest, systemClock, systemPrng } from './kernel/system.ts';
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
  waitSpan,
  workflowSpan,
} from './kernel/trace-ids.ts';
export { checkedDuration, checkName, type Decision, fittingResolutions, RESOLUTIONS } from './lease/decision-checks.ts';
export { LeasedStream } from './lease/leased-stream.ts';
export { TAG_MAX_CHARS, TAGS_MAX_COUNT, WORKFLOW_ID_MAX_CHARS } from './lease/workflow-name.ts';
export type { FoldedEvent, TraceSink } from './projection/folded-event.ts';
export { loggedStore } from './projection/logged-store.ts';
export { isRunnable } from './projection/stream-rows.ts';
export { lostTail } from './rebuild/lost-tail.ts';
export { type RebuildProgress, RowsRebuild, type RowsRebuildOptions } from './rebuild/rows-rebuild.ts';
export { askable, type PlannedNext, type RecoveryPlan, recoveryPlan } from './run/recovery-plan.ts';
export { compensatedCheckpoints } from './sagas/compensated-checkpoints.ts';
export { type UndoOutput, withUndos } from './sagas/undo-definition.ts';
export { type ListChange, listEntries, newestItems, operationIn } from './shadow/recorded-list.ts';
export {
  checkedStreamName,
  type RecordedHost,
  RecordedNames,
} from './shadow/recorded-names.ts';
export {
  type NewEntry,
  RecordedStream,
  type RecordedStreamName,
  RecordedStreams,
  type StreamEntry,
} from './shadow/recorded-stream.ts';
export {
  callsInOrder,
  type NamedStream,
  RecordedWriter,
  type WriterEntry,
  withinEntry,
} from './shadow/recorded-writer.ts';
export type { ShadowAccount } from './shadow/shadow-account.ts';
export { SHADOW_OBSERVE_MS, SHADOW_SHARES, SHADOW_WORKFLOWS_MIN } from './shadow/shadow-limits.ts';
export type { StepReport } from './shadow/shadow-report.ts';
export type { ShadowRun } from './shadow/shadow-run.ts';
export type { ShadowRoute } from './shadow/shadow-share.ts';

export { BlobEncoding } from './views/blob-log.ts';
export { Blobs } from './views/blobs.ts';
export { EncodedLog } from './views/encoded-log.ts';
export { contentsThrough } from './views/row-contents.ts';
export { transformedStore, wordlessStore } from './views/transformed-store.ts';
export { type Uncheckpointed, Worker, type WorkerOptions } from './worker/worker.ts';
