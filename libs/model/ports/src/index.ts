export {
  type AccessChanged,
  type AuditEntry,
  type AuditTrail,
  type Authenticator,
  type Credentials,
  mayDo,
  type Principal,
  RIGHTS,
  type Right,
  ROLES,
  type Role,
} from './access.ts';
export type { ApprovalPlace, ApprovalQuery, ApprovalRow } from './approval-store.ts';
export {
  BLOB_REFERENCE_MAX_BYTES,
  type BlobReference,
  type BlobStore,
  blobReferenceOf,
  blobReferenceText,
} from './blob-store.ts';
export type { AskedTurn, CallEnd, CallLimiter, CallRate, CallScope, CallTurn } from './call-limiter.ts';
export type { ChildQuery, ChildWork } from './child-store.ts';
export type {
  ContextBatch,
  ContextStore,
  FragmentRow,
  FragmentWithText,
  NamedText,
  ScopeRow,
  SessionRow,
  SessionWorkflow,
  SpendRow,
  Spends,
  TextRow,
  TraceEntry,
  UserWorkflow,
} from './context-store.ts';
export type {
  AppendOptions,
  EventLog,
  LogRecord,
  PartitionBounds,
  ReadRequest,
  ReadResult,
  RecordOwner,
  StoredRecord,
} from './event-log.ts';
export type {
  Correction,
  EffectListing,
  EffectQuery,
  EventQuery,
  HistoryStore,
  RejectedPlace,
  TaskCommit,
} from './history-store.ts';
export { isInClear, isLoopback } from './in-clear.ts';
export {
  type ConsumeOptions,
  type Consumer,
  type HintBus,
  type HintTopic,
  isAfter,
  type Job,
  type JobQueue,
  type Keeping,
  type Kept,
  type MessagePlace,
  type Route,
  routeKey,
  WATCH_KEPT_IN_MEMORY_MAX_BYTES,
  WATCH_KEPT_MAX_BYTES,
  WATCH_KEPT_MS,
  type WatchBus,
} from './job-queue.ts';
export type { AppliedBatch, KeyBatch, KeyChange, KeyIndex, KeyOffsets, KeyPage, KeyTopic } from './key-index.ts';
export {
  DATA_KEY_BYTES,
  forSecrets,
  isForSecrets,
  type KeyContext,
  type KeyProvider,
  keyWrong,
  nameForSecrets,
  type WrappedKey,
} from './key-provider.ts';
export type { KeyFilter, KeyStore, StoredKey } from './key-store.ts';
export { type Announcement, buildsOf, type Liveness, type LivenessView, type ReportedLease } from './liveness.ts';
export { fuseRankings, type Ranked } from './memory-ranking.ts';
export {
  compareWrites,
  type MemoryEmbedding,
  type MemoryKind,
  type MemoryName,
  type MemoryQuery,
  type MemoryRow,
  type MemoryStore,
  newestWrites,
  type RecalledMemory,
  type RecallQuery,
  type UnembeddedMemory,
  type UnscrubbedTable,
  type WrittenQuery,
} from './memory-store.ts';
export {
  checkObjectName,
  checkObjectSize,
  isObjectName,
  OBJECT_MAX_BYTES,
  type ObjectStore,
  type Recall,
} from './object-store.ts';
export { isForeign, isOpenToOthers } from './ownership.ts';
export {
  mayJoin,
  mayTakeFree,
  type Placed,
  type PlacedWorkflow,
  type Placement,
  type PlacementRefused,
  type PlacementRequest,
  type PlacementRules,
  type PlaceTaken,
} from './placement.ts';
export type { ProjectionBatch } from './projection-batch.ts';
export type { NewPartition, ProjectionStore, RowStore } from './projection-store.ts';
export { placeOf, placeText, type RecordPlace, rowsWrong } from './record-place.ts';
export { Room } from './room.ts';
export type {
  CheckpointRow,
  EffectRow,
  EventRow,
  FoldedPartition,
  FoldedStream,
  JsonText,
  OpenedRow,
  PartitionAdvance,
  RejectedRow,
  StreamRow,
  StreamSnapshot,
  TaskRow,
  TimerRow,
  WorkflowListing,
  WorkflowQuery,
  WorkflowSummary,
} from './rows.ts';
export {
  type FailureCount,
  type ParkedCount,
  type QueueCount,
  type SearchStore,
  type SpentHour,
  type StatusCount,
  searchWords,
  type WorkflowSearch,
} from './search-store.ts';
export type {
  CatchUp,
  ClosedTexts,
  CompareContents,
  CompareOptions,
  RowComparison,
  RowDifference,
  StoreRebuild,
  UnfinishedRebuild,
} from './store-rebuild.ts';
export {
  type DueTimer,
  type KnownDispatches,
  type LeaseRow,
  RANGE_COUNT,
  type RangeRole,
  type RunnableStream,
  type StoreCounts,
} from './sweep-rows.ts';
export type { Clock, Digest, Prng } from './system.ts';
export { type Attributes, type MetricName, noTelemetry, type Telemetry } from './telemetry.ts';
export { TenantSlots, Turns } from './tenant-slots.ts';
export type {
  PartitionFloor,
  SegmentQuery,
  SegmentRow,
  SegmentTier,
  SegmentWorkflow,
  StorageUse,
  StreamPlace,
  TierStore,
} from './tier-store.ts';
export type { TraceStore } from './trace-store.ts';
