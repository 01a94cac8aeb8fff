/** The door of the library. */

export { applyDelta, type Delta, diff, type Json, SNAPSHOT_MIN_BYTES, snapshotDue } from './belief.ts';
export {
  ConfigError,
  ConflictError,
  CorruptError,
  type ErrorDetails,
  FencedError,
  InvalidError,
  invariant,
  LimitError,
  TidemarkError,
  UnavailableError,
} from './errors.ts';
export {
  type Condition,
  type Controls,
  type EffectKind,
  ENVELOPE_VERSION,
  type Envelope,
  type EventType,
  type HolderEventType,
  type InboxEventType,
  type LogEntry,
  type Retry,
  RULES_VERSION,
  type Sha256,
  type TaskDeclaration,
} from './event.ts';
export { type FoldBatch, type FoldStep, foldEntries, foldEntry, foldStream, RULES_READABLE } from './fold.ts';
export {
  addTasks,
  type Blocked,
  blockedOn,
  finishTask,
  firstUnblocked,
  fulfil,
  isUnblocked,
  matchSignals,
  updateTask,
} from './frontier.ts';
export {
  type CheckpointId,
  checkpointId,
  compareTasks,
  type EffectKey,
  type Epoch,
  type EventId,
  effectKey,
  epoch,
  eventId,
  type Generation,
  generation,
  type HolderId,
  holderId,
  type Lamport,
  lamport,
  NO_HOLDER,
  type Offset,
  type Ordinal,
  offset,
  ordinal,
  type Partition,
  type Position,
  partition,
  position,
  type Sequence,
  sequence,
  type TaskId,
  type TenantId,
  taskId,
  taskOrder,
  tenantId,
  type WorkflowId,
  workflowId,
  ZERO,
} from './ids.ts';
export { LAMPORT_ZERO, tick, witness } from './lamport.ts';
export { partitionFrom, STATE_VERSION, streamFromJson, streamToJson, taskToJson } from './serialise.ts';
export {
  type Cause,
  CLOCK_REGRESSION_MAX_MS,
  type EffectState,
  EMPTY_FRONTIER,
  emptyPartition,
  type Frontier,
  INBOX_DEDUPE_MAX,
  isClosed,
  type Lease,
  type PartitionState,
  type StreamState,
  type StreamStatus,
  type TaskState,
  type UnconsumedSignal,
} from './state.ts';
export { type Keyed, TASKS_PER_CHECKPOINT_MAX, TaskList, taskRank } from './task-list.ts';
export { uuidv7 } from './uuid.ts';
export { type RejectReason, rejected, type Verdict } from './verdict.ts';
