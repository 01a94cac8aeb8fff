/** Owns the contents of listed workflows whose belief and input are their status: schedules and bulk jobs. */

import { streamFromJson } from '@tidemark/core';
import type { ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { StreamContent } from './content.ts';

export interface WorkflowContents {
  readonly row: WorkflowSummary;
  readonly content: StreamContent;
}

/** In the order of the rows, without workflows whose rows disappeared in between. */
export async function withContents(
  store: Pick<ProjectionStore, 'loadStreams'>,
  rows: readonly WorkflowSummary[],
): Promise<readonly WorkflowContents[]> {
  const snapshots = await store.loadStreams(rows.map(({ workflow }) => workflow));
  const found = new Map(snapshots.map((snapshot) => [snapshot.workflow, snapshot]));
  return rows.flatMap((row) => {
    const snapshot = found.get(row.workflow);
    if (snapshot === undefined) return [];
    return [{ row, content: StreamContent.from(snapshot, streamFromJson(snapshot.state, snapshot.tasks)) }];
  });
}
