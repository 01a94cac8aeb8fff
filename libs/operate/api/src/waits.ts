/**
 * Owns why each of some workflows does not move, as every answer says it: by their rows, and by what is there.
 */

import { isoTime, streamFromJson, type WorkflowId } from '@tidemark/core';
import { type There, type Wait, waitOf } from '@tidemark/core/timeline';
import type { WorkflowListing } from '@tidemark/ports';
import { CALL_WINDOW_MS } from '@tidemark/runtime';
import type { Backend } from './backend.ts';
import { workflowJson } from './shapes/workflow.ts';

/** First pending tasks that are read of each workflow of a list. */
const LISTED_TASKS_COUNT = 16;

const waitJson = ({ kind, text, sinceMs, untilMs, endsBy, isThere }: Wait) => ({
  ...{ kind, text },
  since: sinceMs === null ? null : isoTime(sinceMs),
  until: untilMs === null ? null : isoTime(untilMs),
  ...{ ends_by: endsBy, is_there: isThere },
});

/** Why each of these does not move; null: it has ended. */
export async function waitsOf(
  backend: Backend,
  workflows: readonly WorkflowId[],
  showsContent: boolean,
): Promise<ReadonlyMap<WorkflowId, ReturnType<typeof waitJson> | null>> {
  if (workflows.length === 0) return new Map();
  const [found, frontiers] = await Promise.all([
    backend.whatIsThere.found(backend),
    backend.reads.frontiers(workflows, LISTED_TASKS_COUNT),
  ]);
  const limited = backend.limited([...frontiers.keys()]);
  const there: There = {
    ...found,
    nowMs: backend.ports.clock.nowMs(),
    isIdle: backend.isIdle,
    limit: (workflow) => (showsContent || !limited.has(workflow) ? limited.get(workflow) : ''),
    callWindowMs: CALL_WINDOW_MS,
  };
  return new Map(
    Array.from(frontiers, ([workflow, { state, tasks }]) => {
      const stream = streamFromJson(state, tasks);
      const wait = waitOf(stream, [...stream.frontier.tasks], there);
      return [workflow, wait && waitJson(wait)];
    }),
  );
}

/** Workflows as lists show them. */
export async function listedJson(backend: Backend, rows: readonly WorkflowListing[], showsContent: boolean) {
  const live = rows.filter(({ closedInGeneration }) => closedInGeneration === null);
  const waits = await waitsOf(
    backend,
    live.map(({ workflow }) => workflow),
    showsContent,
  );
  return rows.map((row) => ({
    ...workflowJson(row, backend.isIdle),
    waits_for: waits.get(row.workflow) ?? null,
  }));
}
