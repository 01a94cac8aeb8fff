/** Owns how every entry point shows a workflow right after one of its checkpoints. Reads its history. */

import { maskSecrets, maskSecretsIn } from '@tidemark/codec';
import { isoTime, type Json, type Sequence, type TaskState, type WorkflowId } from '@tidemark/core';
import type { CheckpointRow, FragmentWithText, WorkflowListing } from '@tidemark/ports';
import { type Ports, readsOf, workflowAt } from '@tidemark/runtime';
import type { CheckpointPoint } from './checkpoints.ts';
import { pendingState, taskJson } from './frontier.ts';
import { forkJson } from './workflow.ts';

/** A workflow right after one of its checkpoints. */
export interface PastView {
  readonly version: number;
  readonly input: Json;
  readonly belief: Json;
  readonly tasks: readonly TaskState[];
  readonly openedAtMs: number;
  readonly tokens: number;
  readonly costMicros: number;
  readonly lastAction: string;
  /** Sequence 0 is the opening. */
  readonly checkpoint: CheckpointRow;
  /** What model calls saw; a fork's calls are counted on through the shared history. */
  readonly fragments: readonly FragmentWithText[];
}

/** With secret fields masked. Throws as `workflowAt` does. */
export async function pastOf(
  ports: Pick<Ports, 'log' | 'store'>,
  workflow: WorkflowId,
  sequence: Sequence,
): Promise<PastView> {
  const { state, content, checkpoint } = await workflowAt(ports, workflow, sequence);
  return {
    version: state.version,
    input: maskSecrets(content.input),
    belief: maskSecrets(content.belief),
    tasks: [...state.frontier.tasks],
    openedAtMs: state.openedAtMs,
    tokens: state.tokens,
    costMicros: state.costMicros,
    lastAction: state.lastAction,
    checkpoint: { ...checkpoint, payload: maskSecretsIn(checkpoint.payload) },
    fragments: await readsOf(ports.store, workflow, content.fork).fragments(workflow, sequence),
  };
}

export const pastJson = (row: WorkflowListing, past: PastView, point: CheckpointPoint) => ({
  workflow: row.workflow,
  tenant: row.tenant,
  definition: row.definition,
  definition_version: past.version,
  ...forkJson(row.fork),
  sequence_number: past.checkpoint.sequence,
  newest_sequence_number: row.sequence,
  at: isoTime(past.checkpoint.atMs),
  opened_at: isoTime(past.openedAtMs),
  tokens: past.tokens,
  cost_micros: past.costMicros,
  last_action: past.lastAction,
  input: past.input,
  belief: past.belief,
  frontier: past.tasks.map((task) => taskJson(pendingState(task))),
  last_checkpoint: point.checkpoint,
  memory_scope_snapshot: point.memory_scope_snapshot,
  working_memory: point.working_memory,
  fragments: past.fragments.map(({ sequence, index, type, text, call, tool }) => ({
    place: `${sequence}.${index}`,
    type,
    text,
    ...(call !== null && { call }),
    ...(tool !== null && { tool }),
  })),
});
