/** Owns what a reset makes of what the history recorded after the checkpoint: calls and children. It reads rows, and changes nothing. */

import {
  type EffectKey,
  isClosed,
  isOpen,
  type StreamStatus,
  streamFromJson,
  type TaskId,
  taskOrder,
  type WorkflowId,
} from '@tidemark/core';
import type { EffectListing, WorkflowSummary } from '@tidemark/ports';
import { MODEL_OPERATION } from '../agent/index.ts';
import type { EffectDefinition } from '../definition/index.ts';
import type { PastWorkflow } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import { leftUndone } from '../sagas/index.ts';

/** What a caller says about calls that were made after the checkpoint. */
export type ResetEffects = 'keep' | 'undo' | 'ask';

/**
 * `kept`: what was recorded answers the same call. `undone`: it is compensated, and then called again. `asked`: a person decides when it is
 * called; so they do about what has no compensation, or none that is known here. `called`: it was discarded, or is not known to have been done, or only read something.
 */
export type Becomes = 'kept' | 'undone' | 'asked' | 'called';

export interface RecordedCall {
  readonly key: EffectKey;
  readonly operation: string;
  readonly status: string;
  readonly becomes: Becomes;
}

export interface ResetChild {
  readonly workflow: WorkflowId;
  readonly status: StreamStatus;
  /** `answers`: how it ended is what the same task gets again. Others stay as they are, and the task starts another. */
  readonly becomes: 'cancelled' | 'terminated' | 'runs-on' | 'answers' | 'stays';
}

export interface ResetPlan {
  /** Calls that leave the process, after the checkpoint or in tasks that were pending there: the first of them. */
  readonly calls: readonly RecordedCall[];
  readonly callCount: number;
  readonly children: readonly ResetChild[];
}

/** Calls and children that a plan names. */
const PLANNED_MAX_COUNT = 100;

/** What of the base answers, or is undone: what was recorded after the checkpoint, and of tasks that were pending there. */
export const isLater = (
  { state }: PastWorkflow,
  { position, task }: { readonly position: number; readonly task: TaskId },
): boolean => position > state.position || state.frontier.tasks.get(task) !== undefined;

interface PlannedHow {
  readonly effects: ResetEffects;
  /** It was undone before. */
  readonly isUndone: boolean;
  readonly discard: ReadonlySet<string>;
  /** Of the definition, as it is known here. */
  readonly known: readonly EffectDefinition[];
}

const isCompensable = ({ operation, status }: EffectListing, { known }: PlannedHow): boolean => {
  const effect = known.find((one) => one.operation === operation);
  return effect?.[status === 'done' ? 'compensate' : 'compensateUnknown'] !== undefined;
};

export async function resetPlan(
  { store }: Pick<Ports, 'store'>,
  row: WorkflowSummary,
  past: PastWorkflow,
  how: PlannedHow,
): Promise<ResetPlan> {
  const listings = await store.effectListings(row.workflow, {});
  const isLeft = how.isUndone
    ? await leftUndone(store, row.workflow)
    : (one: EffectListing) => !isCompensable(one, how);
  const later = listings.filter((one) => one.kind !== 'pure' && isLater(past, one));
  const calls = later.slice(0, PLANNED_MAX_COUNT).map((one) => {
    const { key, operation, status } = one;
    const isRead = operation === MODEL_OPERATION;
    return { key, operation, status, becomes: becomesOf({ key, status, isRead, isLeft: isLeft(one) }, how) };
  });
  return { calls, callCount: later.length, children: await childrenAfter({ store }, row, past, how.effects) };
}

interface Planned {
  readonly key: string;
  readonly status: string;
  readonly isRead: boolean;
  readonly isLeft: boolean;
}

function becomesOf({ key, status, isRead, isLeft }: Planned, { effects, isUndone, discard }: PlannedHow): Becomes {
  if (discard.has(key) || status === 'failed') return 'called';
  if (isUndone || effects === 'undo') return isRead ? 'called' : isLeft ? 'asked' : isUndone ? 'called' : 'undone';
  if (isOpen({ status: status as 'done' })) return isRead ? 'called' : 'asked';
  return effects === 'keep' || isRead ? 'kept' : 'asked';
}

async function childrenAfter(
  { store }: Pick<Ports, 'store'>,
  { workflow, status }: WorkflowSummary,
  { state }: PastWorkflow,
  effects: ResetEffects,
): Promise<readonly ResetChild[]> {
  const children = await store.children({ parent: workflow, limit: PLANNED_MAX_COUNT });
  const later = children.filter(
    (child) => taskOrder(child.workflow.slice(workflow.length + 1) as TaskId)[0] > state.head.sequence,
  );
  const open = later.filter((child) => !isClosed(child)).map((child) => child.workflow);
  const states = new Map((await store.loadStreams(open, { payloads: false })).map((one) => [one.workflow, one]));
  return later.map((child) => {
    const found = states.get(child.workflow);
    const onClose = found && streamFromJson(found.state, found.tasks).parent?.onClose;
    const answers = child.status === 'completed' && effects !== 'undo' ? 'answers' : 'stays';
    const ends = isClosed({ status }) ? undefined : onClose;
    const becomes =
      found === undefined ? answers : ends === 'cancel' ? 'cancelled' : ends === 'terminate' ? 'terminated' : 'runs-on';
    return { workflow: child.workflow, status: child.status, becomes };
  });
}
