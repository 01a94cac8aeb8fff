/**
 * Owns streams that a release which couldn't read them has passed over: it stopped their fold at an event and went on in the partition. A release
 * that can read the event folds what came since, of these streams alone, all in one pass; rows follow from there as if nobody had stopped.
 *
 * Page by page: each is written before the next is read, and says of a stream that isn't at the end of the stretch that it is stopped behind
 * that page. So memory holds a page, and whoever takes over goes on there.
 *
 * Where a partition is shared, a stream that ended in that stretch may be noted as closed in another generation than a fold without a stop would
 * say: later events of it may be rejected for another reason, nothing else rests on it.
 */

import { entryOf } from '@tidemark/codec';
import {
  CorruptError,
  type Envelope,
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

export interface GoingOn {
  readonly log: Pick<EventLog, 'read'>;
  /** Writes the rows of one page, by which the partition stays where it is. */
  write(batch: ProjectionBatch): Promise<void>;
  /** Called before each page. */
  moved(): void;
}

/** A newer release may have written rows that this one can't read (`state-version`): their partition is left to that one. */
export function stateOf({ partition, next, generation, streams }: FoldedPartition): PartitionState | CorruptError {
  try {
    const read = streams.map(({ state, tasks }) => streamFromJson(state, tasks));
    return partitionFrom(partition, next, generation, read);
  } catch (error) {
    if (error instanceof CorruptError && error.code === 'state-version') return error;
    throw error;
  }
}

/** What others wrote in the stretch has its rows. */
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

/** Where a person judged a record at which a stream stands. */
export const judgedIn = (stretches: readonly Stretch[]): readonly Partition[] =>
  stretches.flatMap(({ before, entries }) => (entries.some(isJudgement) ? [before.partition] : []));

const isJudgement = (entry: LogEntry): boolean => entry.kind === 'event' && entry.envelope.type === 'RecordJudged';

/** Where the first of its streams was stopped. */
export const stoppedAt = ({ streams, next }: PartitionState): Offset =>
  Array.from(streams.values()).reduce(
    (first, { unreadable }) => (unreadable !== null && unreadable.offset < first ? unreadable.offset : first),
    next,
  );

type Streams = ReadonlyMap<WorkflowId, StreamState>;
type Stop = NonNullable<StreamState['unreadable']>;

/** A stream that goes on in a page, as it is before it, and from where on its entries count. */
interface Begun {
  readonly stream: StreamState;
  readonly from: Offset;
  /** Its opening, which could not be read before, and has no rows. */
  readonly opening?: (Opening & LogEntry) | undefined;
}

type Opening = LogEntry & { readonly kind: 'event'; readonly envelope: Envelope<'WorkflowOpened'> };

/** Entries of the partition from an offset on. */
interface Page {
  readonly from: Offset;
  readonly to: Offset;
  readonly entries: readonly LogEntry[];
}

/**
 * The state with what was passed over; the same one where no stream was that this release can read. Where the log shows less than the rows say
 * (a replica behind) the streams stay stopped there. Throws as the log and `write` do, and keeps what was written.
 */
export async function resumedAfterUpgrade(state: PartitionState, going: GoingOn): Promise<PartitionState> {
  let after = state;
  // What a pass stops at may have been judged further on in the stretch.
  for (let stopped = stoppedIn(after); stopped.size > 0; stopped = judgedSince(stopped, after)) {
    after = await gonePast(after, stopped, going);
  }
  return after;
}

const stoppedIn = ({ streams }: PartitionState): Streams =>
  new Map([...streams].filter(([, { unreadable }]) => unreadable !== null));

/** Those that are stopped further on than before, and judged there. */
function judgedSince(before: Streams, state: PartitionState): Streams {
  const stopped = [...stoppedIn(state)].filter(([workflow, { unreadable }]) => {
    const isFurther = unreadable!.offset > (before.get(workflow)?.unreadable?.offset ?? -1);
    return unreadable!.judgement !== undefined && isFurther;
  });
  return new Map(stopped);
}

async function gonePast(state: PartitionState, stopped: Streams, going: GoingOn): Promise<PartitionState> {
  const pass = new Pass(state, stopped);
  while (!pass.isOver) {
    going.moved();
    const page = await pageFrom(pass.at, state, going.log);
    if (page.entries.length === 0) break;
    const batch = pass.take(page);
    if (batch !== undefined) await going.write(batch);
  }
  return pass.state;
}

async function pageFrom(from: Offset, { partition, next }: PartitionState, log: GoingOn['log']): Promise<Page> {
  const [result] = await log.read([{ partition, from }], { maxBytes: PROJECTION_READ_MAX_BYTES });
  const found = (result?.records ?? []).slice(0, Math.min(next - from, PROJECTION_ENTRIES_MAX));
  const entries = found.map(entryOf);
  return { from, to: (from + entries.length) as Offset, entries };
}

/** One way through the stretch behind the streams that are stopped. */
class Pass {
  /** As rows have it. */
  state: PartitionState;
  /** Where the next page begins. */
  at: Offset;
  /** Those ahead, and those that go on; each with where it was stopped. */
  readonly #ahead: Map<WorkflowId, Stop>;
  readonly #going = new Map<WorkflowId, Stop>();

  constructor(state: PartitionState, stopped: Streams) {
    this.state = state;
    this.at = state.next;
    this.#ahead = new Map(Array.from(stopped, ([workflow, { unreadable }]) => [workflow, unreadable!]));
    this.#skip();
  }

  get isOver(): boolean {
    return this.at >= this.state.next || this.#ahead.size + this.#going.size === 0;
  }

  /** Folds a page that begins at `at`; undefined: nothing changes by it. */
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

  /** Where no stream goes on, the entries up to the next stop are nobody's. */
  #skip(): void {
    if (this.#going.size > 0) return;
    const first = Math.min(...Array.from(this.#ahead.values(), ({ offset }) => offset));
    if (Number.isFinite(first)) this.at = first as Offset;
  }

  /** `refused`: gets those that stay where they are though a person said otherwise: it is done with then. */
  #begin({ from, to, entries }: Page, refused: Map<WorkflowId, StreamState>): ReadonlyMap<WorkflowId, Begun> {
    const begun = new Map<WorkflowId, Begun>();
    for (const workflow of this.#going.keys()) {
      begun.set(workflow, { stream: { ...this.state.streams.get(workflow)!, unreadable: null }, from });
    }
    for (const [workflow, stop] of this.#ahead) {
      if (stop.offset >= to) continue;
      this.#ahead.delete(workflow);
      const stream = this.state.streams.get(workflow)!;
      const begins = beginning(this.state, stream, stop, entries[stop.offset - from]!);
      const { judgement, ...going } = stop;
      if (begins === undefined && judgement !== undefined) refused.set(workflow, { ...stream, unreadable: going });
      if (begins === undefined) continue;
      this.#going.set(workflow, going);
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
      // Stopped again, at something newer still; or ended.
      const isDone = stream.unreadable !== null || isClosed(stream);
      after.set(
        workflow,
        isDone || isEnd ? stream : { ...stream, unreadable: { ...this.#going.get(workflow)!, offset: to } },
      );
      if (isDone) this.#going.delete(workflow);
    }
    this.state = { ...this.state, streams: after };
    const batch = rows.batch();
    const { partition } = this.state;
    return { ...batch, streams: batch.streams.map(({ workflow }) => streamRow(after.get(workflow)!, partition)) };
  }
}

/** The stream where it was stopped, and its first entry that is to be folded; undefined where this release stops there too. */
function beginning(
  state: PartitionState,
  stream: StreamState,
  { offset, problem, judgement }: Stop,
  first: LogEntry,
): Begun | undefined {
  const resumed = { stream: { ...stream, unreadable: null }, from: offset };
  if (judgement === 'skip') return { ...resumed, from: (offset + 1) as Offset };
  // Behind a page that was written, anybody's entry may be the first.
  if (workflowOf(first) !== stream.workflow) return resumed;
  if (first.kind !== 'event' || first.problem !== undefined) return undefined;
  if (first.seal === 'plain' && stream.sealed === true) return undefined;
  if (!isOpening(first)) return resumed;
  const opened = openedAgain(state, stream, first, offset);
  if (opened.unreadable !== null) return undefined;
  return { stream: opened, from: (offset + 1) as Offset, opening: problem === undefined ? undefined : first };
}

const isOpening = (entry: LogEntry & { readonly kind: 'event' }): entry is Opening =>
  entry.envelope.type === 'WorkflowOpened';

const workflowOf = (entry: LogEntry): WorkflowId | undefined =>
  entry.kind === 'event' ? entry.envelope.workflow : entry.kind === 'unknown' ? entry.workflow : undefined;

/** An opening has its rows, and its state may lack what the other release didn't know. */
function openedAgain(state: PartitionState, stream: StreamState, entry: LogEntry, from: Offset): StreamState {
  const generation = (stream.generation - 1) as Generation;
  const before: PartitionState = { ...state, next: from, generation, streams: new Map() };
  return foldEntry(before, entry).state.streams.get(stream.workflow) ?? stream;
}
