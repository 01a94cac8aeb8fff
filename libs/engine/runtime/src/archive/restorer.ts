/**
 * Owns the restoration of a workflow's history into rows. It verifies and folds the segments as the projector folds the log, so the rows
 * are those that existed before (I5). It writes nothing else from those segments.
 */

import { entryOf } from '@tidemark/codec';
import { CorruptError, emptyPartition, type PartitionState, type WorkflowId } from '@tidemark/core';
import type { ProjectionStore, SegmentRow } from '@tidemark/ports';
import { HISTORY_READ_MAX_BYTES } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import { ProjectionBuilder } from '../projection/index.ts';
import { type Archive, archiveGap } from './archive.ts';
import { stateAfter } from './archived-state.ts';
import { latestOf } from './cold-reads.ts';
import { recordManifests } from './segment-rows.ts';

/** Most segments of one workflow whose rows are restored. */
const WORKFLOW_SEGMENTS_MAX_COUNT = 100_000;

/** The result of a request for a workflow's history. */
export type RestoreState =
  /** It is in rows, and all of its events can be read. */
  | { readonly state: 'here' }
  | { readonly state: 'restored'; readonly segmentCount: number; readonly eventCount: number }
  /** Objects of an archive class were requested. `expectedAtMs`: when the last is likely to be readable; null: unknown. */
  | { readonly state: 'recalling'; readonly segmentCount: number; readonly expectedAtMs: number | null };

export interface RestorerPorts extends Pick<Ports, 'log' | 'clock'> {
  readonly store: Pick<ProjectionStore, 'workflow' | 'segments' | 'withoutRows' | 'recordSegments' | 'restoreRows'>;
}

export class Restorer {
  readonly #ports: RestorerPorts;
  readonly #archive: Archive;
  readonly #underWay = new Map<WorkflowId, Promise<void>>();

  /** `log`: a view of all tiers. */
  constructor(ports: RestorerPorts, archive: Archive) {
    this.#ports = ports;
    this.#archive = archive;
  }

  /** Restores the rows of those that have none; true when there were any. */
  async restoreMissing(workflows: readonly WorkflowId[]): Promise<boolean> {
    const gone = await this.#ports.store.withoutRows(workflows);
    await Promise.all(gone.map((workflow) => this.#once(workflow)));
    return gone.length > 0;
  }

  /**
   * Restores a workflow's rows, or requests what that needs; harmless when repeated. Its segments are requested even if it has its rows,
   * because time travel and forks read events. Throws what `Archive.records` throws.
   */
  async restore(workflow: WorkflowId): Promise<RestoreState> {
    const [gone] = await this.#ports.store.withoutRows([workflow]);
    const segments = gone === undefined ? await this.#archived(workflow) : await this.#segmentsOf(workflow);
    const recalls = await Promise.all(segments.map((segment) => this.#archive.recall(segment)));
    const awaited = recalls.flatMap((recall) => (recall.state === 'recalling' ? [recall.expectedAtMs] : []));
    if (awaited.length > 0) {
      return { state: 'recalling', segmentCount: awaited.length, expectedAtMs: latestOf(awaited) };
    }
    if (gone === undefined) return { state: 'here' };
    await this.#once(workflow);
    const parts = segments.flatMap(({ workflows }) => workflows.filter((part) => part.workflow === workflow));
    const eventCount = parts.reduce((sum, part) => sum + part.eventCount, 0);
    return { state: 'restored', segmentCount: segments.length, eventCount };
  }

  /** Callers that want the same workflow share one restoration. */
  #once(workflow: WorkflowId): Promise<void> {
    let restoring = this.#underWay.get(workflow);
    if (restoring === undefined) {
      restoring = this.#restore(workflow).finally(() => this.#underWay.delete(workflow));
      this.#underWay.set(workflow, restoring);
    }
    return restoring;
  }

  async #restore(workflow: WorkflowId): Promise<void> {
    const { store, clock } = this.#ports;
    const segments = await this.#segmentsOf(workflow);
    const builder = new ProjectionBuilder(undefined, { passes: true });
    let state: PartitionState | undefined;
    for (const segment of segments) {
      const before: PartitionState = state?.next === segment.from ? state : await this.#stateAt(segment);
      state = await this.#fold(builder, before, segment);
    }
    const batch = builder.batch();
    // The newest state of each stream, because it was folded in several stretches.
    const streams = [...new Map(batch.streams.map((row) => [row.workflow, row])).values()];
    await store.restoreRows({ ...batch, streams }, [workflow], clock.nowMs());
  }

  async #segmentsOf(workflow: WorkflowId): Promise<readonly SegmentRow[]> {
    const { store } = this.#ports;
    const known = await this.#known(workflow);
    if (known !== undefined) return known;
    // Rebuilt rows know no segments until the manifests have been read.
    const row = await store.workflow(workflow);
    if (row !== undefined) await recordManifests(this.#archive, store, row.partition);
    const found = await this.#known(workflow);
    if (found !== undefined) return found;
    throw new CorruptError(
      'history-missing',
      `The history of workflow ${workflow} is neither in rows nor in a segment in ${this.#archive.warm.place}. Run \`tidemark admin verify\`, and restore what is missing from a copy.`,
      { workflow },
    );
  }

  /** The workflow's segments, as far as rows know them. */
  #archived(workflow: WorkflowId): Promise<readonly SegmentRow[]> {
    return this.#ports.store.segments({ workflow, limit: WORKFLOW_SEGMENTS_MAX_COUNT });
  }

  /** The workflow's segments from its opening to its end; undefined: not all of them are known. */
  async #known(workflow: WorkflowId): Promise<readonly SegmentRow[] | undefined> {
    const segments = await this.#archived(workflow);
    const parts = segments.flatMap(({ workflows }) => workflows.filter((part) => part.workflow === workflow));
    return parts.at(0)?.opens === true && parts.at(-1)?.closes === true ? segments : undefined;
  }

  async #stateAt({ partition, from }: SegmentRow): Promise<PartitionState> {
    if (from === 0) return emptyPartition(partition, from);
    const before = await this.#archive.manifestAt(partition, (from - 1) as SegmentRow['from']);
    if (before === undefined || before.to !== from) throw archiveGap(partition, from, this.#archive.warm.place);
    return stateAfter(this.#archive, before);
  }

  /** Reads through the log's view, which opens sealed records. */
  async #fold(
    builder: ProjectionBuilder,
    before: PartitionState,
    { partition, to }: SegmentRow,
  ): Promise<PartitionState> {
    let state = before;
    while (state.next < to) {
      const [result] = await this.#ports.log.read([{ partition, from: state.next }], {
        maxBytes: HISTORY_READ_MAX_BYTES,
      });
      const records = result!.records.slice(0, to - state.next);
      if (records.length === 0) throw archiveGap(partition, state.next, this.#archive.warm.place);
      state = builder.fold(
        state,
        records.map((record) => entryOf(record)),
      );
    }
    return state;
  }
}
