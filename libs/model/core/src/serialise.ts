/**
 * Owns folded state as plain JSON for rows and manifests, and back. Exact: a fold that resumes from what was read gives what the
 * uninterrupted fold gives, byte for byte (I5). Members are written in the order in which they are declared here, and not in the order in
 * which the fold set them: a member that is set, cleared and set again has another place in memory than in what was read back. Each task is
 * a text apart from the rest of the state, so that a large frontier is stored row by row.
 */

import { CorruptError } from './errors.ts';
import type { Generation, Offset, Partition, TaskId } from './ids.ts';
import type { EffectState, Frontier, PartitionState, StreamState, TaskState } from './state.ts';
import { TaskList } from './task-list.ts';

/**
 * 1 until the first release, whatever changes. From then on raised with every change of a shape in state.ts, and with every change of the
 * fold's rules: an older release would fold on by its own.
 */
export const STATE_VERSION = 1;

/** Whether this process can read state of this version. */
export const isReadableState = (version: unknown): boolean => version === STATE_VERSION;

/** Every member of a state, present or not: without one of them nothing compiles. */
type Declared<T> = { readonly [K in keyof Required<T>]: T[K] };

/**
 * Adds what a later release's state has, at the end: an older one that reads it must not lose it. A literal, and this look at its keys, take
 * 2 µs a stream; members added one by one in a loop take 9.
 */
function withLater<T extends object>(declared: T, given: object): T {
  for (const name in given) {
    if (!(name in declared)) (declared as Record<string, unknown>)[name] = (given as Record<string, unknown>)[name];
  }
  return declared;
}

/** The stream without its tasks, as JSON text. */
export function streamToJson(stream: StreamState): string {
  const { failedOn, failure, unreadable } = stream;
  const declared: Declared<Omit<StreamState, 'frontier'>> & { readonly stateVersion: number; frontier: undefined } = {
    stateVersion: STATE_VERSION,
    tenant: stream.tenant,
    workflow: stream.workflow,
    generation: stream.generation,
    definition: stream.definition,
    version: stream.version,
    rules: stream.rules,
    status: stream.status,
    reason: stream.reason,
    question: stream.question,
    failedOn: failedOn && { task: failedOn.task, builds: failedOn.builds, next: failedOn.next },
    failure: failure && {
      fingerprint: failure.fingerprint,
      code: failure.code,
      step: failure.step,
      task: failure.task,
    },
    ruling: stream.ruling,
    cancel: stream.cancel,
    paused: stream.paused,
    parent: stream.parent,
    hasChildren: stream.hasChildren,
    continues: stream.continues,
    spentBefore: stream.spentBefore,
    continued: stream.continued,
    deadline: stream.deadline,
    pinned: stream.pinned,
    shadow: stream.shadow,
    compensates: stream.compensates,
    session: stream.session,
    user: stream.user,
    tags: stream.tags,
    fork: stream.fork,
    dispatch: stream.dispatch,
    raised: stream.raised,
    repeats: stream.repeats,
    undo: stream.undo,
    position: stream.position,
    lamport: stream.lamport,
    openedAtMs: stream.openedAtMs,
    updatedAtMs: stream.updatedAtMs,
    head: stream.head,
    beliefSequence: stream.beliefSequence,
    epoch: stream.epoch,
    lease: stream.lease,
    isUnsettled: stream.isUnsettled,
    resumed: stream.resumed,
    crashCount: stream.crashCount,
    crashTimesMs: stream.crashTimesMs,
    besideMax: stream.besideMax,
    budgetFrom: stream.budgetFrom,
    signals: stream.signals,
    inbox: stream.inbox,
    tokens: stream.tokens,
    costMicros: stream.costMicros,
    estimatedTokens: stream.estimatedTokens,
    unpricedTokens: stream.unpricedTokens,
    unknownCalls: stream.unknownCalls,
    unknownTokens: stream.unknownTokens,
    unknownCostMicros: stream.unknownCostMicros,
    lastAction: stream.lastAction,
    unreadable: unreadable && {
      offset: unreadable.offset,
      type: unreadable.type,
      v: unreadable.v,
      problem: unreadable.problem,
      judgement: unreadable.judgement,
    },
    sealed: stream.sealed,
    closedInGeneration: stream.closedInGeneration,
    frontier: undefined,
  };
  return JSON.stringify(withLater(declared, stream));
}

export function taskToJson(task: TaskState): string {
  const declared: Declared<TaskState> = {
    id: task.id,
    step: task.step,
    after: task.after,
    barrierCount: task.barrierCount,
    when: task.when,
    cause: task.cause,
    awaited: task.awaited,
    failureCount: task.failureCount,
    failureCode: task.failureCode,
    sameFailureCount: task.sameFailureCount,
    passingCount: task.passingCount,
    outage: task.outage,
    retry: task.retry,
    reserved: task.reserved,
    effects: task.effects.map(effectInOrder),
  };
  return JSON.stringify(withLater(declared, task));
}

function effectInOrder(effect: EffectState): EffectState {
  const declared: Declared<EffectState> = {
    key: effect.key,
    operation: effect.operation,
    kind: effect.kind,
    status: effect.status,
    requestDigest: effect.requestDigest,
    responseDigest: effect.responseDigest,
    timeoutMs: effect.timeoutMs,
    isUntold: effect.isUntold,
    isSuspect: effect.isSuspect,
    pending: effect.pending,
    spend: effect.spend,
    wasted: effect.wasted,
    silentHolders: effect.silentHolders,
    hasMoreSilent: effect.hasMoreSilent,
  };
  return withLater(declared, effect);
}

/**
 * The stream from its text and the texts of its pending tasks, in any order. Throws `CorruptError` (`state-version`) for a text of an
 * unreadable version: it could be misread, and rows can be rebuilt from the log.
 */
export function streamFromJson(state: string, tasks: readonly string[]): StreamState {
  const { stateVersion, ...rest } = JSON.parse(state) as Omit<StreamState, 'frontier'> & { stateVersion: number };
  if (!isReadableState(stateVersion)) {
    throw new CorruptError(
      'state-version',
      `Stored state of workflow ${rest.workflow} has version ${stateVersion}; this process reads ${STATE_VERSION}. Run the release that wrote it, or rebuild the rows from the log.`,
      { workflow: rest.workflow, stateVersion },
    );
  }
  return { ...rest, frontier: frontierOf(tasks.map((text) => JSON.parse(text) as TaskState)) };
}

/** Computes the indexes of the frontier from its tasks. */
function frontierOf(unordered: readonly TaskState[]): Frontier {
  const tasks = TaskList.from(unordered);
  const dependents = new Map<TaskId, TaskId[]>();
  const barriers: TaskId[] = [];
  for (const task of tasks) {
    if (task.barrierCount > 0) barriers.push(task.id);
    for (const other of task.after) {
      const known = dependents.get(other);
      if (known === undefined) dependents.set(other, [task.id]);
      else known.push(task.id);
    }
  }
  const waiting = TaskList.from([...dependents].map(([id, list]) => ({ id, dependents: list })));
  return { tasks, waiting, barriers };
}

/** A partition from its rows. */
export const partitionFrom = (
  partition: Partition,
  next: Offset,
  generation: Generation,
  streams: readonly StreamState[],
): PartitionState => ({
  partition,
  next,
  generation,
  streams: new Map(streams.map((stream) => [stream.workflow, stream])),
});
