/** Owns finding a workflow by the id that a person gave, also one that was started a moment ago. */

import { InvalidError, workflowId } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { RETRY_PAUSE_MS, UNKNOWN_GRACE_MS } from '../limits.ts';
import { commandLine, stateWords } from '../text/shell.ts';
import { DEFAULT_FOLDER, type Desk, isIdle } from './desk.ts';

/** The workflow once the rows know it; undefined when that takes longer than it should. */
export async function awaitWorkflow(
  desk: Desk,
  id: string,
  graceMs = UNKNOWN_GRACE_MS,
): Promise<WorkflowSummary | undefined> {
  const deadlineMs = performance.now() + graceMs;
  for (;;) {
    const row = await desk.reads.workflow(workflowId(id));
    if (row !== undefined || performance.now() >= deadlineMs) return row;
    await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
  }
}

/** Throws `InvalidError` (`workflow-unknown`). Rows that this process holds itself are complete: they aren't waited for. */
export async function requireWorkflow(desk: Desk, id: string): Promise<WorkflowSummary> {
  const { place } = desk;
  const isComplete = isIdle(desk);
  const row = await awaitWorkflow(desk, id, isComplete ? 0 : UNKNOWN_GRACE_MS);
  if (row !== undefined) return row;
  const named = place.kind === 'embedded' && place.folder !== DEFAULT_FOLDER ? place.folder : undefined;
  const ls = commandLine('tidemark', 'ls', ...stateWords(named));
  const where = place.kind === 'cluster' ? `topic ${place.topic}` : place.folder;
  throw new InvalidError(
    'workflow-unknown',
    `No workflow has the id '${id}' in ${where}; ${ls} lists those there are.`,
    {
      workflow: id,
    },
  );
}
