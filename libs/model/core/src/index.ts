/** The entry point of the library. */

export { applyDelta, type Delta, diff, type Json, SNAPSHOT_MIN_BYTES, shownBelief, snapshotDue } from './belief.ts';
export { canonicalJson } from './canonical.ts';
export { type AssembledBundle, assembleBundle, type BundleInput } from './context/assemble.ts';
export { cutText } from './context/cut.ts';
export { type BundleDiff, diffBundles } from './context/diff.ts';
export {
  type CoveredRange,
  comparePlaces,
  FRAGMENT_TYPES,
  type Fragment,
  type FragmentParts,
  type FragmentPlace,
  type FragmentType,
} from './context/fragment.ts';
export { MESSAGE_OVERHEAD_TOKENS } from './context/limits.ts';
export type { Manifest, ManifestItem } from './context/manifest.ts';
export type { BundleMessage, FilePart } from './context/message.ts';
export {
  type BundlePolicy,
  checkPolicy,
  definePolicy,
  type PolicyOptions,
  type SummaryPolicy,
} from './context/policy.ts';
export {
  callIds,
  NO_OUTPUT_TEXT,
  type PortablePrompt,
  PROMPT_FORMS,
  type PromptForm,
  portableName,
  portablePrompt,
} from './context/portable-prompt.ts';
export { summariseByRule } from './context/rule-summary.ts';
export { type SummaryDue, summaryDue, summaryPrompt } from './context/summary.ts';
export type { Tokenizer } from './context/tokenizer.ts';
export { base64Bytes, fileTokens, partsOwner } from './context/whole-message.ts';
export type { Continues } from './continues.ts';
export { CONTINUED, leftOf, mayStillAct, SUPERSEDED, spentBy } from './continuing.ts';
export {
  auditId,
  childId,
  claimId,
  continuationId,
  type DerivedForm,
  derivedFormOf,
  forkId,
  jobId,
  MEMORY_PREFIX,
  memoryId,
  nthId,
  nthOf,
  resumedId,
  rolloutId,
  slotId,
  UNDO_SUFFIX,
  undoId,
} from './derived-ids.ts';
export {
  AccessError,
  ConfigError,
  ConflictError,
  CorruptError,
  type ErrorDetails,
  FencedError,
  InvalidError,
  invariant,
  LimitError,
  messageOf,
  TidemarkError,
  UnavailableError,
} from './errors.ts';
export {
  type Compensates,
  type Condition,
  type Controls,
  type Dispatch,
  type DispatchLimit,
  DROPPED_TASKS_MAX_COUNT,
  type EffectKind,
  ENVELOPE_VERSION,
  type Envelope,
  type EventEntry,
  type EventType,
  type Fork,
  type HolderEventType,
  type InboxEventType,
  type LogEntry,
  type Outage,
  type Parent,
  type ParentClosePolicy,
  PRIORITIES,
  PRIORITY_DEFAULT,
  type Priority,
  type Resolution,
  type Retry,
  type RevokeReason,
  RULES_VERSION,
  type Sha256,
  type TaskDeclaration,
  type TraceHints,
} from './event.ts';
export { foldEntries, foldEntry, foldPassing, foldRecord, nextEra, RULES_READABLE } from './fold.ts';
export { SIGNALS_UNREAD } from './fold-holder.ts';
export { BUDGET_EXCEEDED } from './fold-inbox.ts';
export {
  addTasks,
  awaitsInbox,
  type Blocked,
  blockedOn,
  firstUnblocked,
  isUnblocked,
  mayDrop,
  timersOf,
  updateTask,
} from './frontier.ts';
export {
  type CheckpointId,
  checkpointId,
  compareTasks,
  DEFAULT_TENANT,
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
  isSystemDefinition,
  type Lamport,
  lamport,
  NO_HOLDER,
  type Offset,
  type Ordinal,
  offset,
  PARTITION_MAX,
  type Partition,
  type Position,
  partition,
  type Sequence,
  SYSTEM_PREFIX,
  SYSTEM_TENANT,
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
export {
  ANSWER_BOUNDS,
  COUNTED_BOUNDS,
  checkJson,
  inexactNumber,
  JSON_BOUNDS,
  type JsonBounds,
  JsonScanner,
  MODEL_BOUNDS,
  PARSED_VALUE_BYTES,
  parseJson,
  RETURNED_BOUNDS,
  STORED_BOUNDS,
} from './json-bounds.ts';
export { keepLast } from './keep-last.ts';
export { LAMPORT_ZERO, tick, witness } from './lamport.ts';
export { END_MISSING, parseLenient } from './lenient-json.ts';
export { PARENT_CLOSED } from './lifecycle.ts';
export { OWN_TAG_PREFIX, type RecallArm, recallArmOf, recallTagsOf, withRecallArm } from './recall-arm.ts';
export {
  crashRestMs,
  crashVerdict,
  DEFAULT_RECOVERY,
  type ProbeAnswer,
  type RecoveryAction,
  type RecoveryOptions,
  type RecoveryPolicy,
  recoveryAction,
  recoveryPolicy,
  runsAlone,
} from './recovery.ts';
export { REFUSED_STATUSES, RETRY_AFTER_MAX_MS, retryAfterMs } from './retry-after.ts';
export {
  isReadableState,
  partitionFrom,
  STATE_VERSION,
  streamFromJson,
  streamToJson,
  taskToJson,
} from './serialise.ts';
export {
  mostSpent,
  NO_SPEND,
  partsOfSpend,
  plusSpend,
  SPEND_PARTS,
  type Spend,
  type SpendJson,
  type SpendParts,
  spendJson,
  sumOfSpent,
  unknownSpend,
} from './spend.ts';
export {
  type Cause,
  CRASH_TIMES_MAX,
  type EffectState,
  EMPTY_FRONTIER,
  emptyPartition,
  FAILED_BUILDS_MAX,
  type FailedOn,
  type Failure,
  type Frontier,
  INBOX_DEDUPE_MAX,
  isAwaited,
  isClosed,
  isOpen,
  isReplay,
  type Lease,
  type OpeningFacts,
  type PartitionState,
  type Question,
  SIGNALS_MAX,
  SIGNALS_MAX_BYTES,
  type StreamState,
  type StreamStatus,
  type TaskState,
} from './state.ts';
export { TASKS_PER_CHECKPOINT_MAX, TaskList, taskRank } from './task-list.ts';
export { DURATION_MAX_COUNT, isoDay, isoTime, localDay, parseDuration, parseTime, uuidv7 } from './time.ts';
export type { RejectReason, Verdict } from './verdict.ts';
