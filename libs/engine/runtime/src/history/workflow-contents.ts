/** Owns what listed workflows hold, where belief and input say how they stand: those of schedules and of bulk jobs. */

import { streamFromJson } from '@tidemark/core';
import type { ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { StreamContent } from './content.ts';

export interface WorkflowContents {
  readonly row: WorkflowSummary;
  readonly content: StreamContent;
}

/** In the rows' order; without those that rows lost in between. */
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
