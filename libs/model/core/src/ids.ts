/**
 * Owns the branded names and positions of Tidemark. A brand costs nothing at run time; it keeps an offset from being used as a position,
 * and a position as a sequence. Must not parse, generate or compare anything else.
 */

declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** The organisation that owns a workflow and pays for it. */
export type TenantId = Brand<string, 'TenantId'>;
/** One run of a definition: 1..200 characters, chosen by the caller or generated. */
export type WorkflowId = Brand<string, 'WorkflowId'>;
/** One incarnation of a process that may hold leases; never reused. */
export type HolderId = Brand<string, 'HolderId'>;
/** `{sequence that created it}.{index}`, for example `3.0`; the tasks of the opening are `0.0`, `0.1`, … */
export type TaskId = Brand<string, 'TaskId'>;
/** UUIDv7, for people and rough correlation; order is never taken from it. */
export type CheckpointId = Brand<string, 'CheckpointId'>;
/** `{workflow}:{task}:{operation}:{ordinal or name}`. */
export type EffectKey = Brand<string, 'EffectKey'>;
/** Unique within a stream. Ids of events that the system writes derive from their cause. */
export type EventId = Brand<string, 'EventId'>;

/** Index of a partition of the log, 0, 1, 2 … */
export type Partition = Brand<number, 'Partition'>;
/** A place in a partition, assigned by the log: 0, 1, 2 … without gaps. */
export type Offset = Brand<number, 'Offset'>;
/** The place of an accepted event in its stream, assigned by the fold: 1, 2, 3 … without gaps. */
export type Position = Brand<number, 'Position'>;
/** A checkpoint's number in its chain, 1, 2, 3 …; 0 is the opening. */
export type Sequence = Brand<number, 'Sequence'>;
/** Fencing epoch of a stream, 1, 2, 3 …; 0 before the first claim. */
export type Epoch = Brand<number, 'Epoch'>;
/** A holder event's number within its epoch, 1, 2, 3 …; the claim is 1. */
export type Ordinal = Brand<number, 'Ordinal'>;
/** Number of a workflow among those that were placed in one partition, 1, 2, 3 … */
export type Generation = Brand<number, 'Generation'>;
/** Lamport time. `(lamport, workflow, position)` is the total order across workflows. */
export type Lamport = Brand<number, 'Lamport'>;

export const tenantId = (value: string): TenantId => value as TenantId;
/** The tenant of callers that name none. */
export const DEFAULT_TENANT = tenantId('default');
export const workflowId = (value: string): WorkflowId => value as WorkflowId;
export const holderId = (value: string): HolderId => value as HolderId;
export const checkpointId = (value: string): CheckpointId => value as CheckpointId;
export const eventId = (value: string): EventId => value as EventId;
/** Partitions are 32-bit numbers. */
export const PARTITION_MAX = 2 ** 31 - 1;

export const partition = (value: number): Partition => value as Partition;
export const offset = (value: number): Offset => value as Offset;
export const sequence = (value: number): Sequence => value as Sequence;
export const epoch = (value: number): Epoch => value as Epoch;
export const generation = (value: number): Generation => value as Generation;
export const lamport = (value: number): Lamport => value as Lamport;

/** The id of the task at `index` of those added at `createdAt`. */
export const taskId = (createdAt: Sequence | number, index: number): TaskId => `${createdAt}.${index}` as TaskId;

/** Order of creation: `[sequence, index]`. */
export function taskOrder(task: TaskId): readonly [number, number] {
  const dot = task.indexOf('.');
  return [Number(task.slice(0, dot)), Number(task.slice(dot + 1))];
}

/** Negative when `a` was created before `b`, 0 for the same task, positive otherwise. */
export function compareTasks(a: TaskId, b: TaskId): number {
  const [aSequence, aIndex] = taskOrder(a);
  const [bSequence, bIndex] = taskOrder(b);
  return aSequence - bSequence || aIndex - bIndex;
}

/** Stable over retries, workers and parallel order, since it derives from checkpoint sequences alone (I4). */
export const effectKey = (workflow: WorkflowId, task: TaskId, operation: string, name: string | number): EffectKey =>
  `${workflow}:${task}:${operation}:${name}` as EffectKey;

/** The values before the first checkpoint and before the first claim. */
export const ZERO = { sequence: 0 as Sequence, epoch: 0 as Epoch, ordinal: 0 as Ordinal } as const;

/** The `holder` of inbox events. */
export const NO_HOLDER = '' as HolderId;

/** Names with it are the system's own: no user's definition has one, and no list shows one. */
export const SYSTEM_PREFIX = 'tidemark.';

export const isSystemDefinition = (definition: string): boolean => definition.startsWith(SYSTEM_PREFIX);

/** The tenant of records that belong to no tenant: access rights, paused queues, jobs over all tenants. No caller belongs to it. */
export const SYSTEM_TENANT: TenantId = tenantId('~tidemark');
