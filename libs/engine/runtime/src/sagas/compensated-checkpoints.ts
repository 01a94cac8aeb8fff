/**
 * Owns which checkpoints of a workflow its undo has compensated, read from the plans in the undo's chain, so that it works for every undo
 * that ever ran. It compensates nothing, and never writes.
 *
 * C1 A plan's tasks run one after the other, each as one checkpoint: task `n` of plan `p` is committed once the chain has reached `p + 1 +
 *    n`.
 * C2 Plans go back from the newest item: each covers the positions from its `below` up to that of the previous plan.
 */

import { decodePayload } from '@tidemark/codec';
import { type EffectKey, type Json, type Sequence, undoId, type WorkflowId } from '@tidemark/core';
import type { CheckpointRow, EffectListing, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { isArchivedObject } from '../history/index.ts';
import { effectItem } from './compensation-items.ts';
import { PLAN_STEP, type PlanInput, type UndoTask } from './undo-definition.ts';

type Reads = Pick<ProjectionStore, 'workflow' | 'checkpoints'>;
type Checkpoint = Pick<CheckpointRow, 'sequence' | 'position' | 'task'>;

interface Plan {
  readonly sequence: Sequence;
  /** Earlier positions belong to the next plan; 0: there is none. */
  readonly below: number;
  readonly tasks: readonly UndoTask[];
}

interface Compensated {
  readonly keys: Set<EffectKey>;
  readonly steps: Set<Sequence>;
}

const NONE: ReadonlySet<Sequence> = new Set();

/**
 * Sequences of those checkpoints of which at least something was compensated, and every effect with something to compensate was. `effects`:
 * at least those of their tasks. Undefined: unknown, because the undo's history was forgotten, or is archived until it is restored. It
 * reads as many plans as the checkpoints' items span, and finds the first of them in logarithmic time.
 */
export async function compensatedCheckpoints(
  rows: Reads,
  { workflow, status }: Pick<WorkflowSummary, 'workflow' | 'status'>,
  checkpoints: readonly Checkpoint[],
  effects: readonly EffectListing[],
): Promise<ReadonlySet<Sequence> | undefined> {
  // Also one that has completed may be undone, when it is reset.
  if (checkpoints.length === 0 || status === 'open' || status === 'parked') return NONE;
  const undo = await rows.workflow(undoId(workflow));
  if (undo === undefined) return status === 'compensated' ? undefined : NONE;
  const items = Map.groupBy(effects.flatMap(effectItem), ({ task }) => task);
  const itemsOf = ({ task }: Checkpoint) => (task === null ? [] : (items.get(task) ?? []));
  const positions = checkpoints.flatMap((one) => [one.position, ...itemsOf(one).map(({ position }) => position)]);
  const compensated = await compensatedIn(rows, undo, Math.min(...positions), Math.max(...positions));
  if (compensated === undefined) return undefined;
  const isCompensated = (one: Checkpoint): boolean => {
    const own = itemsOf(one);
    return (own.length > 0 || compensated.steps.has(one.sequence)) && own.every(({ key }) => compensated.keys.has(key));
  };
  return new Set(checkpoints.filter(isCompensated).map(({ sequence }) => sequence));
}

/** What was compensated at the positions `[from, to]`; the result may have items of further positions. */
async function compensatedIn(
  rows: Reads,
  undo: WorkflowSummary,
  from: number,
  to: number,
): Promise<Compensated | undefined> {
  const compensated: Compensated = { keys: new Set(), steps: new Set() };
  try {
    for (let plan = await planOf(rows, undo, to); plan !== undefined; ) {
      if (plan === 'forgotten') return undefined;
      // C1.
      for (const task of plan.tasks.slice(0, Math.max(0, undo.sequence - plan.sequence))) {
        if (task.kind === 'step') compensated.steps.add(task.sequence);
        else if (task.kind === 'effect') compensated.keys.add(task.key);
      }
      if (plan.below <= from) break;
      plan = await planFrom(rows, undo.workflow, plan.sequence + 1);
    }
  } catch (error) {
    if (isArchivedObject(error)) return undefined;
    throw error;
  }
  return compensated;
}

/** The first plan that reaches down to the position. */
async function planOf(rows: Reads, undo: WorkflowSummary, position: number): Promise<Plan | 'forgotten' | undefined> {
  let [low, high] = [1, Number(undo.sequence)];
  let found: Plan | undefined;
  while (low <= high) {
    // Most undos have one plan, at the beginning.
    const at = low === 1 ? 1 : Math.floor((low + high) / 2);
    const plan = await planFrom(rows, undo.workflow, at);
    if (plan === 'forgotten') return plan;
    if (plan !== undefined && plan.below > position) {
      low = plan.sequence + 1;
      continue;
    }
    found = plan ?? found;
    high = at - 1;
  }
  return found;
}

async function planFrom(rows: Reads, undo: WorkflowId, from: number): Promise<Plan | 'forgotten' | undefined> {
  const [row] = await rows.checkpoints(undo, { from: from as Sequence, limit: 1, step: PLAN_STEP });
  if (row === undefined) return undefined;
  const { tasks }: { readonly tasks?: readonly Json[] } = decodePayload('CheckpointCommitted', row.payload);
  if (tasks === undefined) return 'forgotten';
  const { below = null } = (tasks.at(-1) ?? {}) as Partial<PlanInput>;
  return { sequence: row.sequence, below: below ?? 0, tasks: tasks.slice(0, -1) as unknown as readonly UndoTask[] };
}
