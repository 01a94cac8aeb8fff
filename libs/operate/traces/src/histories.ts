/**
 * Owns the traces under way, each with its open spans. A trace that began here is drawn event by event; for any other the history is read
 * first, one at a time, while its new events wait. Sampling is decided here: a trace outside of the share is drawn only once it is worth
 * keeping, and then as a whole, with the log as the only buffer.
 */

import { decodeRecord } from '@tidemark/codec';
import {
  isClosed,
  isSystemDefinition,
  type Offset,
  type Partition,
  TidemarkError,
  type WorkflowId,
} from '@tidemark/core';
import type { TraceStore } from '@tidemark/ports';
import { type FoldedEvent, isInShare, traceIdOf } from '@tidemark/runtime';
import { type HistoryPorts, historyOf } from './history.ts';
import { HISTORY_READ_MAX_BYTES } from './limits.ts';
import type { TraceSpan } from './span.ts';
import type { DropReason } from './span-queue.ts';
import type { DrawingOptions } from './traced-event.ts';
import { isNotable, WorkflowTrace } from './workflow-trace.ts';

/** Workflows whose open spans are kept in memory, at most; others are drawn from the log again. */
const OPEN_TRACES_MAX = 20_000;
/** Events that may wait for one workflow's history, at most; beyond, the history is read again from the start. */
const EVENTS_WAITING_MAX = 4_096;
/** Workflows whose history waits to be read, at most; spans of further ones are dropped and counted. */
const HISTORIES_WAITING_MAX = 10_000;

export interface HistoriesOptions extends DrawingOptions {
  readonly ports: HistoryPorts & { readonly store: HistoryPorts['store'] & Pick<TraceStore, 'tracedTo'> };
  readonly ratio: number;
  readonly onSpans: (spans: readonly TraceSpan[]) => void;
  readonly onDropped: (count: number, reason: DropReason) => void;
  readonly onError: (error: unknown) => void;
}

/** A trace under way. Without a drawing it is outside of the share, and not worth keeping yet. */
interface Entry {
  readonly partition: Partition;
  readonly drawing: WorkflowTrace | undefined;
  /** Events before it are drawn. */
  upTo: Offset;
  /** Used since the last check for eviction. */
  isUsed: boolean;
}

/** A history to read. */
interface Asked {
  /** Spans that end with events from here on are exported; earlier ones were. */
  threshold: Offset;
  /** Events that came since the request; undefined: there were too many, and the history is read again. */
  events: FoldedEvent[] | undefined;
}

export class Histories {
  readonly #options: HistoriesOptions;
  /** The longest unchecked for eviction come first. */
  readonly #entries = new Map<WorkflowId, Entry>();
  readonly #asked = new Map<WorkflowId, Asked>();
  #reading: Promise<void> = Promise.resolve();
  #askedCount = 0;
  #readCount = 0;

  constructor(options: HistoriesOptions) {
    this.#options = options;
  }

  /** Reads that were ever requested, and those that are done. */
  get askedCount(): number {
    return this.#askedCount;
  }

  get readCount(): number {
    return this.#readCount;
  }

  /** Resolves when no read is left. */
  async settled(): Promise<void> {
    for (let before = -1; before !== this.#askedCount; ) {
      before = this.#askedCount;
      await this.#reading;
    }
  }

  add(event: FoldedEvent): void {
    // The system's own streams (memory, keys, tenants) do no work of anyone's.
    if (isSystemDefinition(event.after.definition)) return;
    const { workflow } = event.envelope;
    const waiting = this.#asked.size === 0 ? undefined : this.#asked.get(workflow);
    if (waiting !== undefined) {
      if (waiting.events !== undefined && waiting.events.length < EVENTS_WAITING_MAX) waiting.events.push(event);
      else waiting.events = undefined;
      return;
    }
    const entry = event.before === undefined ? this.#begin(event) : this.#entries.get(workflow);
    if (entry === undefined) {
      this.#ask(workflow, event.partition, event.offset);
      return;
    }
    if (event.offset < entry.upTo) return;
    entry.upTo = (event.offset + 1) as Offset;
    entry.isUsed = true;
    if (entry.drawing !== undefined) {
      const spans = entry.drawing.add(event);
      if (spans.length > 0) this.#options.onSpans(spans);
    } else if (isNotable(event.envelope, event.after)) {
      this.#entries.delete(workflow);
      this.#ask(workflow, event.partition, 0 as Offset);
      return;
    }
    if (isClosed(event.after)) this.#entries.delete(workflow);
    else if (event.before === undefined) this.#keep(workflow, entry);
  }

  /** Another process folded these events; only the log says whose they are. */
  fill(partition: Partition, from: Offset, to: Offset): void {
    for (const [workflow, entry] of this.#entries) if (entry.partition === partition) this.#entries.delete(workflow);
    this.#later(async () => {
      const { log, store } = this.#options.ports;
      // The previous owner may have exported more than was known here.
      const marked = (await store.tracedTo()).get(partition) ?? 0;
      const start = Math.max(from, marked) as Offset;
      for (let at = start; at < to; ) {
        const [result] = await log.read([{ partition, from: at }], { maxBytes: HISTORY_READ_MAX_BYTES });
        const records = (result?.records ?? []).filter(({ offset }) => offset < to);
        if (records.length === 0) return;
        for (const { value } of records) {
          const entry = decodeRecord(value);
          if (entry.kind === 'event') this.#missed(entry.envelope.workflow, partition, start);
        }
        at = (at + records.length) as Offset;
      }
    });
  }

  #missed(workflow: WorkflowId, partition: Partition, start: Offset): void {
    const waiting = this.#asked.get(workflow);
    if (waiting !== undefined) waiting.threshold = Math.min(waiting.threshold, start) as Offset;
    else if (!this.#entries.has(workflow)) this.#ask(workflow, partition, start);
  }

  #begin({ envelope, partition, after, offset }: FoldedEvent): Entry {
    const isKept = isInShare(traceIdOf(envelope.workflow), this.#options.ratio) || after.compensates !== null;
    return { partition, drawing: isKept ? new WorkflowTrace(this.#options) : undefined, upTo: offset, isUsed: true };
  }

  /** A full map drops the first that no event used since the last check, so that an event moves nothing in it (the CLOCK of caches). */
  #keep(workflow: WorkflowId, entry: Entry): void {
    this.#entries.set(workflow, entry);
    if (this.#entries.size <= OPEN_TRACES_MAX) return;
    for (const [oldest, found] of this.#entries) {
      this.#entries.delete(oldest);
      if (!found.isUsed) return;
      found.isUsed = false;
      this.#entries.set(oldest, found);
    }
  }

  #ask(workflow: WorkflowId, partition: Partition, threshold: Offset): void {
    if (this.#asked.size >= HISTORIES_WAITING_MAX) {
      this.#options.onDropped(1, 'histories-full');
      return;
    }
    this.#asked.set(workflow, { threshold, events: [] });
    this.#later(() => this.#read(workflow, partition));
  }

  /** Reads one at a time: waiting events cost memory, and reading slows the folder of events. */
  #later(work: () => Promise<void>): void {
    this.#askedCount++;
    this.#reading = this.#reading
      .then(work)
      .catch((error: unknown) => {
        this.#options.onDropped(1, 'history-unread');
        this.#options.onError(error);
      })
      .then(() => {
        this.#readCount++;
      });
  }

  async #read(workflow: WorkflowId, partition: Partition): Promise<void> {
    const asked = this.#asked.get(workflow)!;
    try {
      const drawn = new DrawnHistory(workflow, this.#options);
      for await (const { offset, event } of historyOf(this.#options.ports, workflow)) {
        if (isSystemDefinition(event.after.definition)) break;
        drawn.add(offset, event);
      }
      if (asked.events === undefined) {
        // More events came than could wait, so it reads once more what the log has now.
        asked.events = [];
        this.#later(() => this.#read(workflow, partition));
        return;
      }
      for (const event of asked.events) drawn.add(event.offset, event);
      this.#asked.delete(workflow);
      this.#options.onSpans(drawn.spansFrom(asked.threshold));
      if (!drawn.isClosed) this.#keep(workflow, drawn.entry(partition));
    } catch (error) {
      this.#asked.delete(workflow);
      // The rows were lost since.
      if (error instanceof TidemarkError && error.code === 'workflow-unknown') return;
      throw error;
    }
  }
}

/** A trace drawn from its beginning, with the event that ended each span. */
class DrawnHistory {
  readonly #drawing: WorkflowTrace;
  readonly #isInShare: boolean;
  readonly #ended: { readonly offset: Offset; readonly spans: readonly TraceSpan[] }[] = [];
  #upTo = 0 as Offset;
  #notableFrom: Offset | undefined;
  isClosed = false;

  constructor(workflow: WorkflowId, options: HistoriesOptions) {
    this.#drawing = new WorkflowTrace(options);
    this.#isInShare = isInShare(traceIdOf(workflow), options.ratio);
  }

  add(offset: Offset, event: Parameters<WorkflowTrace['add']>[0]): void {
    if (offset < this.#upTo) return;
    this.#upTo = (offset + 1) as Offset;
    const spans = this.#drawing.add(event);
    if (spans.length > 0) this.#ended.push({ offset, spans });
    if (this.#drawing.isNotable) this.#notableFrom ??= offset;
    this.isClosed = isClosed(event.after);
  }

  /** Spans that were not exported; for a trace that only now proved worth keeping, all. */
  spansFrom(threshold: Offset): readonly TraceSpan[] {
    if (!this.#isInShare && this.#notableFrom === undefined) return [];
    const isNew = !this.#isInShare && this.#notableFrom! >= threshold;
    return this.#ended.flatMap(({ offset, spans }) => (isNew || offset >= threshold ? spans : []));
  }

  entry(partition: Partition): Entry {
    const isKept = this.#isInShare || this.#notableFrom !== undefined;
    return { partition, drawing: isKept ? this.#drawing : undefined, upTo: this.#upTo, isUsed: true };
  }
}
