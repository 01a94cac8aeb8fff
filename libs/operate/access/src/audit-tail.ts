/**
 * Owns reading one stream of audit entries backwards, from a time on, page by page. One process writes a stream, in the order in which
 * entries came (but for `AUDIT_ROUTED_MAX_MS`), and no entry stands in it before its time.
 */

import { decodePayload } from '@tidemark/codec';
import { CorruptError, type Sequence } from '@tidemark/core';
import type { CheckpointRow, ProjectionStore, WorkflowListing } from '@tidemark/ports';
import { type AuditRecord, recordsIn } from './audit-record.ts';
import { AUDIT_PAGE_COUNT } from './limits.ts';

/** Milliseconds by which an entry may stand later in its stream than others of its time: its tenant had to be looked up first, or clocks were set back. */
const AUDIT_ROUTED_MAX_MS = 60_000;

export type AuditStream = Pick<WorkflowListing, 'workflow' | 'sequence' | 'openedAtMs' | 'updatedAtMs'>;

export class AuditTail {
  readonly #store: Pick<ProjectionStore, 'checkpoints'>;
  readonly #stream: AuditStream;
  /** The last unread entry; undefined: not searched for yet. */
  #to: number | undefined;
  /** No unread entry is newer than this, in milliseconds since 1970. */
  newestMs: number;

  constructor(store: Pick<ProjectionStore, 'checkpoints'>, stream: AuditStream, newestMs: number) {
    this.#store = store;
    this.#stream = stream;
    this.newestMs = Math.min(newestMs, stream.updatedAtMs + AUDIT_ROUTED_MAX_MS);
  }

  get isRead(): boolean {
    return this.#to === 0;
  }

  /** The next page, in no order. Throws `CorruptError` (`audit-unreadable`), and for archived streams what the tiers throw. */
  async page(): Promise<readonly AuditRecord[]> {
    const to = this.#to ?? (await this.#lastBefore(this.newestMs + AUDIT_ROUTED_MAX_MS));
    this.#to = to;
    if (to === 0) return [];
    const from = Math.max(1, to - AUDIT_PAGE_COUNT + 1);
    const rows = await this.#read(from, to - from + 1);
    this.#to = from - 1;
    this.newestMs = Math.min(
      this.newestMs,
      ...rows.slice(0, 1).map((row) => this.#oldestMs(row) + AUDIT_ROUTED_MAX_MS),
    );
    return rows.flatMap((row) => this.#recordsOf(row));
  }

  /** The last page that may hold an older entry than that; 0: none. */
  async #lastBefore(ms: number): Promise<number> {
    const { sequence, updatedAtMs } = this.#stream;
    if (updatedAtMs < ms) return sequence;
    let [last, missed] = [0, sequence + 1];
    // For most streams the first entry alone shows whether they hold anything.
    for (let at = 1; last + 1 < missed; at = Math.floor((last + missed) / 2)) {
      const [row] = await this.#read(at, 1);
      if (row !== undefined && this.#oldestMs(row) < ms) last = at;
      else missed = at;
    }
    return last;
  }

  async #read(from: number, limit: number): Promise<readonly CheckpointRow[]> {
    return this.#store.checkpoints(this.#stream.workflow, { from: from as Sequence, limit });
  }

  #oldestMs(row: CheckpointRow): number {
    return Math.min(row.atMs, ...this.#recordsOf(row).map(({ atMs }) => atMs));
  }

  #recordsOf({ payload }: CheckpointRow): readonly AuditRecord[] {
    const { output } = decodePayload('CheckpointCommitted', payload);
    if (output === null) return [];
    const records = recordsIn(output);
    if (records === undefined) throw unreadable(this.#stream.workflow);
    return records;
  }
}

const unreadable = (workflow: string): CorruptError =>
  new CorruptError(
    'audit-unreadable',
    `${workflow} holds an entry of the audit that this release can't read: a newer one wrote it, or it was changed.`,
    { workflow },
  );
