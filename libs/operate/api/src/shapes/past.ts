/** Owns how every entry point shows a workflow right after one of its checkpoints. Reads its history. */

import { maskSecrets, maskSecretsIn } from '@tidemark/codec';
import { isoTime, type Sequence, spendJson } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { readsOf, workflowAt } from '@tidemark/runtime';
import type { Backend } from '../backend.ts';
import { clearPart } from '../clear-reads.ts';
import { checkpointPoints } from './checkpoints.ts';
import { pendingState, tasksJson } from './frontier.ts';
import { forkJson } from './workflow.ts';

/** Masks secret fields. For a fork, the count of model calls continues from the shared history. Throws as `workflowAt` does. */
export async function pastJson(backend: Backend, row: WorkflowSummary, sequence: Sequence, showsContent: boolean) {
  const { workflow, tenant, definition, fork, sequence: newest } = row;
  const { state, content, checkpoint } = await workflowAt(backend.ports, workflow, sequence);
  const fragments = await readsOf(backend.ports.store, workflow, content.fork).fragments(workflow, sequence);
  const payload = (showsContent ? maskSecretsIn : clearPart)(checkpoint.payload);
  const [point] = await checkpointPoints(backend, row, [{ ...checkpoint, payload }]);
  const { checkpoint: last_checkpoint, ...memory } = point!;
  return {
    ...{ workflow, tenant, definition, definition_version: state.version },
    ...forkJson(fork),
    sequence_number: checkpoint.sequence,
    newest_sequence_number: newest,
    at: isoTime(checkpoint.atMs),
    opened_at: isoTime(state.openedAtMs),
    ...spendJson(state),
    last_action: state.lastAction,
    input: maskSecrets(content.input),
    belief: maskSecrets(content.belief),
    frontier: tasksJson([...state.frontier.tasks].map(pendingState)),
    ...{ last_checkpoint, ...memory },
    fragments: fragments.map(({ sequence: at, index, type, text, call, tool }) => ({
      place: `${at}.${index}`,
      type,
      text,
      ...(call !== null && { call }),
      ...(tool !== null && { tool }),
    })),
  };
}
