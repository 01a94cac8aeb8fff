/** Owns checkpoints with everything known of each beside its record: its effects, its status, and what memory held right after it. Reads rows. */

import { decodePayload, maskSecrets } from '@tidemark/codec';
import {
  type EffectState,
  isoTime,
  type Json,
  type Sequence,
  spendJson,
  type TaskId,
  type TaskState,
  type WorkflowId,
} from '@tidemark/core';
import type { CheckpointRow, EffectListing, TaskRow, WorkflowSummary } from '@tidemark/ports';
import { compensatedCheckpoints, type Definition, type PastScope, scopesAfter } from '@tidemark/runtime';
import type { Backend } from '../backend.ts';
import { PAGE_MAX_COUNT, RESERVING_TASKS_READ_MAX_COUNT } from '../limits.ts';

export interface CheckpointPoint {
  /** Null: it is the opening. */
  readonly checkpoint: ReturnType<typeof checkpointJson> | null;
  readonly memory_scope_snapshot: ReturnType<typeof scopesJson>;
  /** Content of working memory, with secret fields masked. */
  readonly working_memory: { readonly [key: string]: Json };
}

/** For consecutive rows, as `checkpoints` returns them. The number of reads doesn't grow with theirs. */
export async function checkpointPoints(
  { reads, definitions }: Pick<Backend, 'reads' | 'definitions'>,
  row: WorkflowSummary,
  rows: readonly CheckpointRow[],
): Promise<readonly CheckpointPoint[]> {
  const { workflow } = row;
  const versionOf = (version: number): Definition | undefined =>
    definitions.find((one) => one.name === row.definition && one.version === version);
  const firstPhase = versionOf(rows[0]?.stepVersion ?? row.version)?.context?.firstPhase;
  const tasks = rows.flatMap(({ task }) => task ?? []);
  const committed = rows.filter(({ sequence }) => sequence > 0);
  const sequences = committed.map(({ sequence }) => sequence);
  const [listings, corrections, scopes] = await Promise.all([
    tasks.length === 0 ? [] : reads.effectListings(workflow, { tasks }),
    sequences.length === 0 ? [] : reads.corrections(workflow, sequences),
    scopesAfter(reads, workflow, rows, { isFork: row.fork !== undefined, firstPhase }),
  ]);
  const compensated = await compensatedCheckpoints(reads, row, committed, listings);
  const effects = Map.groupBy(listings, ({ task }) => task);
  const corrected = new Map(corrections.map((one) => [one.supersedes, one.sequence]));
  return rows.map((each, at) => {
    const scope = scopes[at]!;
    const memory_scope_snapshot = scopesJson(scope, versionOf(each.stepVersion));
    const became = {
      isCompensated: compensated?.has(each.sequence) ?? null,
      supersededBy: corrected.get(each.sequence) ?? null,
    };
    const own = (each.task && effects.get(each.task)) ?? [];
    const checkpoint = each.sequence === 0 ? null : checkpointJson(each, own, became, memory_scope_snapshot);
    return {
      ...{ checkpoint, memory_scope_snapshot },
      working_memory: maskSecrets(scope.memory) as CheckpointPoint['working_memory'],
    };
  });
}

/** Checkpoints that don't count yet: of the oldest tasks that have reserved one before an effect, and what a worker of this process has staged. */
export async function uncommittedCheckpoints(backend: Backend, workflow: WorkflowId) {
  const pending = backend.pendingCheckpoints(workflow).map(({ control }) => ({
    checkpoint_id: control.checkpoint as string,
    sequence_number: control.sequence as number | null,
    parent_checkpoint_id: control.parent as string | null,
    status: 'pending' as 'pending' | 'reserved',
    step_definition_ref: control.step,
    step_version: control.stepVersion as number | null,
    task: control.task as string,
    input_state_hash: control.inputDigest as string | null,
    effect_log: [] as ReturnType<typeof effectLog>,
  }));
  const staged = new Set(pending.map(({ checkpoint_id }) => checkpoint_id));
  const reserved: typeof pending = [];
  for (let [after, read] = [null as TaskId | null, 0]; read < RESERVING_TASKS_READ_MAX_COUNT; read += PAGE_MAX_COUNT) {
    const page: readonly TaskRow[] = await backend.reads.tasks(workflow, PAGE_MAX_COUNT, after);
    for (const state of page.map((row) => JSON.parse(row.state) as TaskState)) {
      if (state.reserved === null || staged.has(state.reserved)) continue;
      reserved.push({
        ...{ checkpoint_id: state.reserved, sequence_number: null, parent_checkpoint_id: null, status: 'reserved' },
        ...{ step_definition_ref: state.step, step_version: null, task: state.id, input_state_hash: null },
        effect_log: effectLog(state.effects),
      });
    }
    if (page.length < PAGE_MAX_COUNT) break;
    after = page.at(-1)!.task;
  }
  return [...pending, ...reserved];
}

const effectLog = (effects: readonly (EffectListing | EffectState)[]) =>
  effects.map((effect) => ({
    operation: effect.operation,
    idempotency_key: effect.key as string,
    status: effect.status,
    request_digest: effect.requestDigest as string,
    response_digest: effect.responseDigest as string | null,
  }));

/** The later fate of a checkpoint. */
interface Became {
  /** Null: unknown. */
  readonly isCompensated: boolean | null;
  readonly supersededBy: Sequence | null;
}

/** Compensation comes last: a corrected checkpoint that was then compensated counts as compensated. */
function statusOf({ isCompensated, supersededBy }: Became) {
  if (isCompensated === true) return 'compensated' as const;
  if (supersededBy !== null) return 'superseded' as const;
  return isCompensated === null ? null : ('committed' as const);
}

/** `effects`: those of the checkpoint's task. Only for checkpoints after the opening. */
function checkpointJson(
  row: CheckpointRow,
  effects: readonly EffectListing[],
  became: Became,
  memory_scope_snapshot: ReturnType<typeof scopesJson>,
) {
  const { output, delta, snapshot, log } = decodePayload('CheckpointCommitted', row.payload);
  return {
    checkpoint_id: row.checkpoint,
    sequence_number: row.sequence,
    parent_checkpoint_id: row.parent,
    status: statusOf(became),
    supersedes: row.supersedes,
    superseded_by: became.supersededBy,
    step_definition_ref: row.step,
    step_version: row.stepVersion,
    task: row.task,
    input_state_hash: row.inputDigest,
    output_state: output,
    belief_change: snapshot === undefined ? (delta === undefined ? null : { delta }) : { snapshot },
    effect_log: effectLog(effects),
    memory_scope_snapshot,
    log: (log ?? []).map(({ atMs, action, detail }) => ({
      at: isoTime(atMs),
      action,
      ...(detail === undefined ? {} : { detail }),
    })),
    last_action: row.lastAction,
    ...spendJson(row),
    epoch: row.epoch,
    holder: row.holder,
    lamport: row.lamport,
    position: row.position,
    at: isoTime(row.atMs),
  };
}

/** Names and sizes of the three scopes. `definition`: the version that made the checkpoint, where this process has it. */
function scopesJson({ phase, memory, traceLength, ...size }: PastScope, definition: Definition | undefined) {
  const keys = Object.keys(memory).sort();
  const { tokens = keys.length === 0 ? 0 : null, budgetTokens } = size;
  return {
    system_context: { keys: definition === undefined ? null : definition.context?.system ? ['system'] : [] },
    working_memory: {
      phase: phase === '' ? null : phase,
      keys,
      tokens,
      budget_tokens: budgetTokens ?? definition?.context?.phases.get(phase)?.budgetTokens ?? null,
    },
    trace: { length: traceLength },
  };
}

/** For a workflow whose history was deleted. */
export const NO_POINT: CheckpointPoint = {
  checkpoint: null,
  memory_scope_snapshot: scopesJson({ phase: '', memory: {}, gone: {}, traceLength: 0 }, undefined),
  working_memory: {},
};
