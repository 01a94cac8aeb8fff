/**
 * Owns the resumption of streams at which an earlier release stopped: it could not read an event, and continued with the rest of the
 * partition. A release that can read the event folds what has come since, of these streams alone and all in one pass; rows then follow as
 * if the stream had never stopped.
 *
 * It works page by page. Each page is written before the next is read, and marks a stream that is not yet at the end as stopped after that
 * page. So memory holds one page, and another process can take over there.
 *
 * In a shared partition, a stream that ended in the stretch may be recorded as closed in another generation than an uninterrupted fold
 * would give. Later events of it may then be rejected for another reason; nothing else depends on it.
 */

import { entryOf } from '@tidemark/codec';
import {
  CorruptError,
  type Envelope,
  type EventEntry,
  foldEntry,
  type Generation,
  isClosed,
  type LogEntry,
  type Offset,
  type Partition,
  type PartitionState,
  partitionFrom,
  type StreamState,
  streamFromJson,
  type WorkflowId,
} from '@tidemark/core';
import type { EventLog, FoldedPartition, ProjectionBatch } from '@tidemark/ports';
import { PROJECTION_ENTRIES_MAX, PROJECTION_READ_MAX_BYTES } from './limits.ts';
import { Omitted, type Stretch } from './omitted-history.ts';
import { ProjectionBuilder } from './projection.ts';
import { streamRow } from './stream-rows.ts';

export interface ResumptionPorts {
  readonly log: Pick<EventLog, 'read'>;
  /** Writes the rows of one page, without moving the partition's offset. */
  write(batch: ProjectionBatch): Promise<void>;
  /** Called before each page. */
  moved(): void;
}

/**
 * Reads folded rows. A newer release may have written rows that this one can't read (`state-version`): it leaves the partition to that
 * release.
 */
export function stateOf({ partition, next, generation, streams }: FoldedPartition): PartitionState | CorruptError {
  try {
    const read = streams.map(({ state, tasks }) => streamFromJson(state, tasks));
    return partitionFrom(partition, next, generation, read);
  } catch (error) {
    if (error instanceof CorruptError && error.code === 'state-version') return error;
    throw error;
  }
}

/** Entries of other streams in the stretch already have their rows. */
class Others extends Omitted {
  readonly #offsets: ReadonlySet<Offset>;

  constructor(offsets: ReadonlySet<Offset>) {
    super([], [], 0 as Offset);
    this.#offsets = offsets;
  }

  override hasRejected(offset: Offset): boolean {
    return this.#offsets.has(offset);
  }
}

/** Partitions in which a person judged a record that stopped a stream. */
export const judgedIn = (stretches: readonly Stretch[]): readonly Partition[] =>
  stretches.flatMap(({ before, entries }) => (entries.some(isJudgement) ? [before.partition] : []));

const isJudgement = (entry: LogEntry): boolean => entry.kind === 'event' && entry.envelope.type === 'RecordJudged';

/** Where the first of its streams stopped. */
export const stoppedAt = ({ streams, next }: PartitionState): Offset =>
  Array.from(streams.values()).reduce(
    (first, { unreadable }) => (unreadable !== null && unreadable.offset < first ? unreadable.offset : first),
    next,
  );

type Streams = ReadonlyMap<WorkflowId, StreamState>;
type Stop = NonNullable<StreamState['unreadable']>;

/** A stream that resumes in a page: its state before the page, and the offset from which its entries count. */
interface Begun {
  readonly stream: StreamState;
  readonly from: Offset;
  /** Its opening, if that was unreadable before and has no rows. */
  readonly opening?: (Opening & LogEntry) | undefined;
}

type Opening = EventEntry & { readonly envelope: Envelope<'WorkflowOpened'> };

/** A range of the partition's entries. */
interface Page {
  readonly from: Offset;
  readonly to: Offset;
  readonly entries: readonly LogEntry[];
}

/**
 * The state with everything that was skipped; the same state if this release can read none of it. Where the log shows less than rows expect
 * (a replica behind), the streams stay stopped. Throws what the log and `write` throw; pages that were written stay.
 */
export async function resumedAfterUpgrade(state: PartitionState, ports: ResumptionPorts): Promise<PartitionState> {
  let after = state;
  // A record that stops this pass may have been judged later in the stretch.
  for (let stopped = stoppedIn(after); stopped.size > 0; stopped = judgedSince(stopped, after)) {
    after = await passThrough(after, stopped, ports);
  }
  return after;
}

const stoppedIn = ({ streams }: PartitionState): Streams =>
  new Map([...streams].filter(([, { unreadable }]) => unreadable !== null));

/** Streams that stopped later than before, at a record that has been judged. */
function judgedSince(before: Streams, state: PartitionState): Streams {
  const stopped = [...stoppedIn(state)].filter(([workflow, { unreadable }]) => {
    const isFurther = unreadable!.offset > (before.get(workflow)?.unreadable?.offset ?? -1);
    return unreadable!.judgement !== undefined && isFurther;
  });
  return new Map(stopped);
}

async function passThrough(state: PartitionState, stopped: Streams, ports: ResumptionPorts): Promise<PartitionState> {
  const pass = new Pass(state, stopped);
  while (!pass.isOver) {
    ports.moved();
    const page = await pageFrom(pass.at, state, ports.log);
    if (page.entries.length === 0) break;
    const batch = pass.take(page);
    if (batch !== undefined) await ports.write(batch);
  }
  return pass.state;
}

async function pageFrom(from: Offset, { partition, next }: PartitionState, log: ResumptionPorts['log']): Promise<Page> {
  const [result] = await log.read([{ partition, from }], { maxBytes: PROJECTION_READ_MAX_BYTES });
  const found = (result?.records ?? []).slice(0, Math.min(next - from, PROJECTION_ENTRIES_MAX));
  const entries = found.map(entryOf);
  return { from, to: (from + entries.length) as Offset, entries };
}

/** One pass through the stretch after the stopped streams. */
class Pass {
  /** The state that rows have. */
  state: PartitionState;
  /** Where the next page begins. */
  at: Offset;
  /** Streams that stopped further on, and streams that have resumed; each with where it stopped. */
  readonly #ahead: Map<WorkflowId, Stop>;
  readonly #resumed = new Map<WorkflowId, Stop>();

  constructor(state: PartitionState, stopped: Streams) {
    this.state = state;
    this.at = state.next;
    this.#ahead = new Map(Array.from(stopped, ([workflow, { unreadable }]) => [workflow, unreadable!]));
    this.#skip();
  }

  get isOver(): boolean {
    return this.at >= this.state.next || this.#ahead.size + this.#resumed.size === 0;
  }

  /** Folds a page that begins at `at`; undefined: it changes nothing. */
  take(page: Page): ProjectionBatch | undefined {
    const { partition, next, generation, streams } = this.state;
    const refused = new Map<WorkflowId, StreamState>();
    const from = this.#begin(page, refused);
    if (refused.size > 0) this.state = { ...this.state, streams: new Map([...this.state.streams, ...refused]) };
    const inRows = new Map(Array.from(from, ([workflow]) => [workflow, streams.get(workflow)!]));
    this.at = page.to;
    const batch = from.size === 0 ? new ProjectionBuilder().batch() : this.#fold(page, from, inRows);
    this.#skip();
    if (from.size + refused.size === 0) return undefined;
    const stay = Array.from(refused.values(), (stream) => streamRow(stream, partition));
    return {
      ...batch,
      streams: [...batch.streams, ...stay],
      partitions: [{ partition, from: next, to: next, generation }],
    };
  }

  /** While no stream has resumed, entries up to the next stop belong to none of them. */
  #skip(): void {
    if (this.#resumed.size > 0) return;
    const first = Math.min(...Array.from(this.#ahead.values(), ({ offset }) => offset));
    if (Number.isFinite(first)) this.at = first as Offset;
  }

  /** `refused` receives streams that stay stopped despite a person's judgement, which is then used up. */
  #begin({ from, to, entries }: Page, refused: Map<WorkflowId, StreamState>): ReadonlyMap<WorkflowId, Begun> {
    const begun = new Map<WorkflowId, Begun>();
    for (const workflow of this.#resumed.keys()) {
      begun.set(workflow, { stream: { ...this.state.streams.get(workflow)!, unreadable: null }, from });
    }
    for (const [workflow, stop] of this.#ahead) {
      if (stop.offset >= to) continue;
      this.#ahead.delete(workflow);
      const stream = this.state.streams.get(workflow)!;
      const begins = beginning(this.state, stream, stop, entries[stop.offset - from]!);
      const { judgement, ...unjudged } = stop;
      if (begins === undefined && judgement !== undefined) refused.set(workflow, { ...stream, unreadable: unjudged });
      if (begins === undefined) continue;
      this.#resumed.set(workflow, unjudged);
      begun.set(workflow, begins);
    }
    return begun;
  }

  #fold({ from, to, entries }: Page, begun: ReadonlyMap<WorkflowId, Begun>, inRows: Streams): ProjectionBatch {
    const others = new Set<Offset>();
    const own = entries.map((entry, index): LogEntry => {
      const offset = (from + index) as Offset;
      const workflow = workflowOf(entry);
      if (workflow !== undefined && offset >= (begun.get(workflow)?.from ?? to)) return entry;
      others.add(offset);
      return { kind: 'malformed', problem: '' };
    });
    const streams = new Map(Array.from(begun, ([workflow, { stream }]) => [workflow, stream]));
    const rows = new ProjectionBuilder();
    for (const { stream, from: at, opening } of begun.values()) {
      if (opening !== undefined)
        rows.readAtLast(stream, opening, { partition: this.state.partition, offset: (at - 1) as Offset });
    }
    const folded = rows.fold({ ...this.state, next: from, streams }, own, new Others(others), inRows);
    const isEnd = to >= this.state.next;
    const after = new Map(this.state.streams);
    for (const [workflow, stream] of folded.streams) {
      // Stopped again by something even newer, or ended.
      const isDone = stream.unreadable !== null || isClosed(stream);
      after.set(
        workflow,
        isDone || isEnd ? stream : { ...stream, unreadable: { ...this.#resumed.get(workflow)!, offset: to } },
      );
      if (isDone) this.#resumed.delete(workflow);
    }
    this.state = { ...this.state, streams: after };
    const batch = rows.batch();
    const { partition } = this.state;
    return { ...batch, streams: batch.streams.map(({ workflow }) => streamRow(after.get(workflow)!, partition)) };
  }
}

/** The stream where it stopped, and its first entry to fold; undefined where this release also stops there. */
function beginning(
  state: PartitionState,
  stream: StreamState,
  { offset, problem, judgement }: Stop,
  first: LogEntry,
): Begun | undefined {
  const resumed = { stream: { ...stream, unreadable: null }, from: offset };
  if (judgement === 'skip') return { ...resumed, from: (offset + 1) as Offset };
  // After a page was written, the first entry may belong to any stream.
  if (workflowOf(first) !== stream.workflow) return resumed;
  if (first.kind !== 'event' || first.problem !== undefined) return undefined;
  if (first.seal === 'plain' && stream.sealed === true) return undefined;
  if (!isOpening(first)) return resumed;
  const opened = openedAgain(state, stream, first, offset);
  if (opened.unreadable !== null) return undefined;
  return { stream: opened, from: (offset + 1) as Offset, opening: problem === undefined ? undefined : first };
}

const isOpening = (entry: EventEntry): entry is Opening => entry.envelope.type === 'WorkflowOpened';

const workflowOf = (entry: LogEntry): WorkflowId | undefined =>
  entry.kind === 'event' ? entry.envelope.workflow : entry.kind === 'unknown' ? entry.workflow : undefined;

/** Folds an opening again: its state may lack what the older release didn't know. */
function openedAgain(state: PartitionState, stream: StreamState, entry: LogEntry, from: Offset): StreamState {
  const generation = (stream.generation - 1) as Generation;
  const before: PartitionState = { ...state, next: from, generation, streams: new Map() };
  return foldEntry(before, entry).state.streams.get(stream.workflow) ?? stream;
}
