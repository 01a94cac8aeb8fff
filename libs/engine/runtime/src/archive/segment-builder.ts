/**
 * Owns what a stretch of a partition becomes as a segment: the fold of its records, where it ends, and which workflows it has. Pure: it
 * receives records and returns what to write. A segment has workflows of one tenant, so each tenant's policy decides about whole segments.
 * It folds the records itself, so the manifest's state does not depend on rows. On request it also ends between workflows and memories
 * written outside of them: the latter never end, and would keep the former for ever.
 */

import { entryOf } from '@tidemark/codec';
import {
  foldPassing,
  isClosed,
  type LogEntry,
  type PartitionState,
  type StreamState,
  streamToJson,
  type TenantId,
  taskToJson,
  type Verdict,
  type WorkflowId,
} from '@tidemark/core';
import type { FoldedStream, StoredRecord } from '@tidemark/ports';
import type { ArchivedWorkflow, SegmentRecord } from '@tidemark/segments';
import { isMemoryStream } from '../agent/index.ts';
import { streamRow } from '../projection/index.ts';

interface Part {
  eventCount: number;
  rawBytes: number;
  opens: boolean;
  stream: StreamState;
}

export class SegmentBuilder {
  readonly #parts = new Map<WorkflowId, Part>();
  readonly #records: SegmentRecord[] = [];
  #state: PartitionState;
  #tenant: TenantId | undefined;
  #rawBytes = 0;
  #firstAtMs = Number.POSITIVE_INFINITY;
  #lastAtMs = 0;
  #isEnded = false;
  /** Whether its records are memories written outside of workflows; undefined: it has neither yet. */
  #isMemory: boolean | undefined;
  #mixes = true;

  /** `state`: the partition's state where the segment begins. */
  constructor(state: PartitionState) {
    this.#state = state;
    for (const stream of state.streams.values()) if (!isClosed(stream)) this.#tenant = stream.tenant;
  }

  /** Tenant of its workflows, once known. */
  get tenant(): TenantId | undefined {
    return this.#tenant;
  }

  /** Whether it may have both workflows and memories written outside of them; default: yes. */
  set mixes(mixes: boolean) {
    this.#mixes = mixes;
  }

  get state(): PartitionState {
    return this.#state;
  }

  get records(): readonly SegmentRecord[] {
    return this.#records;
  }

  get rawBytes(): number {
    return this.#rawBytes;
  }

  /** Number of workflows of which it has accepted events. */
  get workflowCount(): number {
    return this.#parts.size;
  }

  /** Times of its oldest and newest event, by their writers' clocks; 0 if it has none. */
  get atMs(): { readonly first: number; readonly last: number } {
    return { first: Math.min(this.#firstAtMs, this.#lastAtMs), last: this.#lastAtMs };
  }

  /** False: the record and everything after it belong to the next segment. */
  add(record: StoredRecord): boolean {
    if (this.#isEnded) return false;
    const { offset, value } = record;
    const entry = entryOf(record);
    const { state, verdict } = foldPassing(this.#state, entry);
    if (!this.#mixes && this.#isOtherKind(entry, verdict, state)) return false;
    if (this.#isOtherTenants(entry, verdict)) {
      this.#isEnded = true;
      return false;
    }
    this.#state = state;
    this.#rawBytes += value.length;
    this.#records.push({
      offset,
      value,
      position: verdict.kind === 'accepted' ? verdict.position : null,
      rejected: verdict.kind === 'rejected' ? verdict.reason : null,
    });
    this.#count(entry, verdict, value.length);
    return true;
  }

  #isOtherTenants(entry: LogEntry, verdict: Verdict): boolean {
    if (entry.kind !== 'event' || entry.envelope.type !== 'WorkflowOpened' || verdict.kind !== 'accepted') return false;
    const { tenant } = entry.envelope;
    const isOther = this.#tenant !== undefined && this.#tenant !== tenant;
    this.#tenant ??= tenant;
    return isOther;
  }

  #isOtherKind(entry: LogEntry, verdict: Verdict, { streams }: PartitionState): boolean {
    if (entry.kind !== 'event' || verdict.kind !== 'accepted' || this.#isMemory === undefined) return false;
    const { workflow } = entry.envelope;
    return streams.has(workflow) && isMemoryStream(workflow) !== this.#isMemory;
  }

  #count(entry: LogEntry, verdict: Verdict, bytes: number): void {
    if (entry.kind !== 'event' || verdict.kind !== 'accepted') return;
    const { workflow, atMs, type } = entry.envelope;
    this.#firstAtMs = Math.min(this.#firstAtMs, atMs);
    this.#lastAtMs = Math.max(this.#lastAtMs, atMs);
    const stream = this.#state.streams.get(workflow);
    // A partition's fence belongs to no workflow.
    if (stream === undefined) return;
    this.#isMemory = isMemoryStream(workflow);
    const part = this.#parts.get(workflow);
    if (part === undefined) {
      this.#parts.set(workflow, { eventCount: 1, rawBytes: bytes, opens: type === 'WorkflowOpened', stream });
      return;
    }
    part.eventCount++;
    part.rawBytes += bytes;
    part.stream = stream;
  }

  /** Its workflows, by id. */
  workflows(): readonly ArchivedWorkflow[] {
    return [...this.#parts.values()]
      .map(({ stream, eventCount, rawBytes, opens }) => {
        const { state: _, ...ended } = streamRow(stream, this.#state.partition);
        return {
          workflow: stream.workflow,
          tenant: stream.tenant,
          eventCount,
          rawBytes,
          opens,
          closes: isClosed(stream),
          session: stream.session ?? null,
          user: stream.user ?? null,
          ended: isClosed(stream) ? ended : null,
        };
      })
      .sort((a, b) => (a.workflow < b.workflow ? -1 : 1));
  }
}

/** A partition's streams in the form of manifests, by id; tasks in order of creation. */
export const foldedStreams = ({ streams }: PartitionState): readonly FoldedStream[] =>
  [...streams.values()]
    .sort((a, b) => (a.workflow < b.workflow ? -1 : 1))
    .map((stream) => ({
      state: streamToJson(stream),
      tasks: isClosed(stream) ? [] : Array.from(stream.frontier.tasks, taskToJson),
    }));
