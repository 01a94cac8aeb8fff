/** Owns finding a workflow by the id that a person gave, also one that was started a moment ago. */

import { InvalidError, workflowId } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { RETRY_PAUSE_MS, UNKNOWN_GRACE_MS } from '../limits.ts';
import { commandLine, stateWords } from '../text/shell.ts';
import { DEFAULT_FOLDER, type Desk, isIdle } from './desk.ts';

/**
 * What `read` finds in the rows, once it finds something. Undefined as soon as the rows of a folder hold all of its log, since nothing
 * is to come then; on a cluster, which always writes, after the grace.
 */
export async function awaitRow<T>(desk: Desk, read: () => Promise<T | undefined>): Promise<T | undefined> {
  const deadlineMs = performance.now() + UNKNOWN_GRACE_MS;
  let isComplete = isIdle(desk);
  for (;;) {
    const row = await read();
    if (row !== undefined || isComplete || performance.now() >= deadlineMs) return row;
    isComplete = await areRowsComplete(desk);
    if (!isComplete) await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
  }
}

async function areRowsComplete(desk: Desk): Promise<boolean> {
  if (desk.place.kind === 'cluster') return false;
  const { store, log } = await desk.health();
  return store.ready && log.lagCount === 0;
}

/** The workflow once the rows know it; undefined when that takes longer than it should. */
export const awaitWorkflow = (desk: Desk, id: string): Promise<WorkflowSummary | undefined> =>
  awaitRow(desk, () => desk.reads.workflow(workflowId(id)));

/** Throws `InvalidError` (`workflow-unknown`). */
export async function requireWorkflow(desk: Desk, id: string): Promise<WorkflowSummary> {
  const { place } = desk;
  const row = await awaitWorkflow(desk, id);
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
