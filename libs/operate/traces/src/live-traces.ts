/**
 * Owns the live export: spans are drawn from the events that a coordinator folds, by the same mapping as every later export, and sent as
 * they end. Rows store the offset up to which each partition's spans were exported, so that the export resumes there after a restart, or when
 * another coordinator takes over. Must never make the projector wait.
 *
 * T1 A partition's mark never passes an event whose spans were neither exported nor dropped and counted: so a span may be sent twice
 *    (with the same ids), and none is missing without being counted.
 * T2 A workflow whose open spans are not in memory is drawn again from its history, never guessed.
 */

import { type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { Clock, PartitionAdvance, TraceStore } from '@tidemark/ports';
import type { FoldedEvent, TraceSink } from '@tidemark/runtime';
import { Histories } from './histories.ts';
import type { HistoryPorts } from './history.ts';
import { type DropReason, SpanQueue, type SpanQueueOptions } from './span-queue.ts';
import type { DrawingOptions } from './traced-event.ts';

/** Period of the poll for events that were folded and never exported, in milliseconds. */
export const POLL_PERIOD_MS = 2_000;
/** Least time between two writes of export positions, in milliseconds. After a crash, the spans of that time may be sent again. */
const MARK_PERIOD_MS = 5_000;

export interface LiveTracesOptions extends DrawingOptions {
  readonly ports: HistoryPorts & {
    readonly store: HistoryPorts['store'] & TraceStore & { positions(): Promise<ReadonlyMap<Partition, Offset>> };
    readonly clock: Clock;
  };
  readonly send: SpanQueueOptions['send'];
  /** Share of the traces that are always kept; failed and recovered runs are kept in any case. */
  readonly ratio: number;
  readonly onDropped: (count: number, reason: DropReason) => void;
  readonly onError: (error: unknown) => void;
}

/** A mark that may be stored once everything before it is exported. */
interface Mark {
  readonly to: ReadonlyMap<Partition, Offset>;
  /** How many histories must be read, and how many spans settled after that, before the mark is stored. */
  readonly historyCount: number;
  spanCount: number | undefined;
}

export class LiveTraces implements TraceSink {
  readonly #options: LiveTracesOptions;
  readonly #queue: SpanQueue;
  readonly #histories: Histories;
  /** The offset of the newest event of each partition that arrived here. */
  readonly #at = new Map<Partition, Offset>();
  #pending = new Map<Partition, Offset>();
  #mark: Mark | undefined;
  #owns: (partition: Partition) => boolean = () => false;
  /** Partitions whose rows were ahead at the last poll. */
  #behind = new Map<Partition, Offset>();
  #polledMs = 0;
  #isEnding = false;
  #markedMs = 0;

  constructor(options: LiveTracesOptions) {
    this.#options = options;
    const { send, onDropped, onError, ports } = options;
    this.#queue = new SpanQueue({
      clock: ports.clock,
      send,
      onDropped,
      onError,
      onFlushed: async () => {
        await this.#remember(MARK_PERIOD_MS);
        await this.#poll();
      },
    });
    this.#histories = new Histories({ ...options, onSpans: (spans) => this.#queue.push(spans) });
  }

  async begin(owns: (partition: Partition) => boolean): Promise<void> {
    this.#owns = owns;
    for (const [partition, next] of await this.#options.ports.store.tracedTo()) this.#at.set(partition, next);
    this.#polledMs = this.#options.ports.clock.monotonicMs();
    this.#queue.start();
  }

  accept(events: readonly FoldedEvent[], advances: readonly PartitionAdvance[]): void {
    /** Partitions that were folded again, since rows were lost or rebuilt: their events before these offsets are drawn. */
    const drawnTo = new Map<Partition, Offset>();
    for (const { partition, from, to } of advances) {
      const at = this.#at.get(partition) ?? (0 as Offset);
      if (from < at) drawnTo.set(partition, at);
      if (to <= at) continue;
      if (from > at) this.#histories.fill(partition, at, from);
      this.#at.set(partition, to);
      this.#pending.set(partition, to);
    }
    for (const event of events) {
      if (drawnTo.size === 0 || event.offset >= (drawnTo.get(event.partition) ?? 0)) this.#histories.add(event);
    }
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#histories.settled();
    await this.#queue.stop();
    // The last flush may have settled what a mark waited for.
    for (let round = 0; round < 2; round++) await this.#remember(0).catch(this.#options.onError);
    const unsentCount = this.#queue.pushedCount - this.#queue.settledCount;
    if (unsentCount === 0) return;
    // Their marks stay behind (T1).
    const message = `Not sent yet: ${unsentCount} spans. The next process that exports traces of this state sends them.`;
    this.#options.onError(new UnavailableError('spans-unsent', message));
  }

  /** Sets a mark after the newest events, and stores marks once everything before them is exported. */
  async #remember(periodMs: number): Promise<void> {
    const nowMs = this.#options.ports.clock.monotonicMs();
    if (this.#mark === undefined) {
      if (this.#pending.size === 0 || nowMs - this.#markedMs < periodMs) return;
      this.#markedMs = nowMs;
      this.#mark = { to: this.#pending, historyCount: this.#histories.askedCount, spanCount: undefined };
      this.#pending = new Map();
    }
    const mark = this.#mark;
    if (this.#histories.readCount < mark.historyCount) return;
    mark.spanCount ??= this.#queue.pushedCount;
    if (this.#queue.settledCount < mark.spanCount) return;
    await this.#options.ports.store.advanceTraced(mark.to);
    this.#mark = undefined;
  }

  /** Finds events that another coordinator folded and could not export any more: rows that stay ahead of the marks over two polls. */
  async #poll(): Promise<void> {
    const { clock, store } = this.#options.ports;
    // The last flush must not begin reads: the store is closed next.
    if (this.#isEnding || clock.monotonicMs() - this.#polledMs < POLL_PERIOD_MS) return;
    this.#polledMs = clock.monotonicMs();
    const behind = new Map<Partition, Offset>();
    for (const [partition, next] of await store.positions()) {
      const at = this.#at.get(partition) ?? (0 as Offset);
      if (next <= at || !this.#owns(partition)) continue;
      if (this.#behind.get(partition) !== at) behind.set(partition, at);
      else {
        this.#histories.fill(partition, at, next);
        this.#at.set(partition, next);
        this.#pending.set(partition, next);
      }
    }
    this.#behind = behind;
  }
}
