/**
 * Owns reading followed workflows: one read of the log for all of them, whenever rows were applied, and reading older history for followers
 * who request it. Events are sent once rows hold them, so that every later answer contains them.
 *
 * The log is the source, folded from a state that rows hold: rows have some types of events only, and only the fold gives positions.
 */

import type { ContentRoom } from '@tidemark/access/reads';
import {
  isClosed,
  type Offset,
  type Partition,
  streamFromJson,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import {
  type FoldedPartition,
  type ReadRequest,
  type ReadResult,
  type StoredRecord,
  Turns,
  type WorkflowSummary,
} from '@tidemark/ports';
import { historyPage, openingOffset, type Ports, StreamFold, type StreamPlacement } from '@tidemark/runtime';
import { FEED_LINGER_MS } from '../limits.ts';
import { Feed, type Follower, report, SentEvent } from './feed.ts';
import { aborted } from './sink.ts';

/** Pause between two polls of the log, and the period of polls without a hint, in milliseconds. */
const FEED_PAUSE_MS = 5;
const FEED_SWEEP_PERIOD_MS = 2_000;
/** Bytes of one read of the log. */
const FEED_READ_MAX_BYTES = 4 * 1_024 * 1_024;
/** Bytes of one read of a follower's history, at first and while little of it is the workflow's. */
const REPLAY_READ_MIN_BYTES = 128 * 1_024;
const REPLAY_READ_MAX_BYTES = 1_024 * 1_024;
/** Followers whose history is read at once; others wait. */
const REPLAYS_AT_ONCE = 4;
/** Workflows whose state is fetched with one statement. */
const FEED_OPEN_MAX_COUNT = 200;

type FeedPorts = Pick<Ports, 'log' | 'store' | 'hints' | 'clock'>;

export class Feeds {
  readonly #ports: FeedPorts;
  /** The memory for content, in which what is read of histories is counted. */
  readonly #room: ContentRoom;
  readonly #onError: (where: string, error: unknown) => void;
  readonly #feeds = new Map<WorkflowId, Feed>();
  readonly #opening = new Map<WorkflowId, Promise<Feed | undefined>>();
  readonly #replays = new Turns(REPLAYS_AT_ONCE);
  readonly #closing = new AbortController();
  #toOpen: { readonly row: WorkflowSummary; readonly answer: (feed: Promise<Feed | undefined>) => void }[] = [];
  #dirty = new Set<Partition>();
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #unsubscribe: (() => Promise<void>) | undefined;

  constructor(ports: FeedPorts, room: ContentRoom, onError: (where: string, error: unknown) => void) {
    this.#ports = ports;
    this.#room = room;
    this.#onError = onError;
  }

  /** Serves the follower from its `next` on; resolves when it is gone, or has received the end. Throws as reading the history does. */
  async follow(row: WorkflowSummary, follower: Follower): Promise<void> {
    const { sink } = follower;
    const feed = await this.#feedOf(row);
    if (feed === undefined) {
      // It may have continued, and ended, since the row was read.
      const { position } = (await this.#ports.store.workflow(row.workflow)) ?? row;
      await this.#replay(row, follower, () => position);
      follower.end(position);
      return;
    }
    feed.join(follower);
    try {
      while (!feed.goLive(follower)) {
        await this.#replay(feed.place, follower, () => feed.position);
        if (sink.closed.aborted) return;
      }
      await aborted(AbortSignal.any([sink.closed, feed.failed]));
      if (!sink.closed.aborted) throw feed.failed.reason;
    } finally {
      feed.leave(follower, this.#ports.clock.monotonicMs());
    }
  }

  /** Undefined: it had ended, and nothing will come. */
  async #feedOf(row: WorkflowSummary): Promise<Feed | undefined> {
    const { workflow } = row;
    const known = this.#feeds.get(workflow);
    if (known !== undefined) return known;
    const opening = this.#opening.get(workflow) ?? this.#open(row);
    this.#opening.set(workflow, opening);
    return opening.finally(() => this.#opening.delete(workflow));
  }

  async #open(row: WorkflowSummary): Promise<Feed | undefined> {
    this.#running ??= this.#run();
    const feed = await new Promise<Feed | undefined>((resolve, reject) => {
      this.#toOpen.push({ row, answer: (answer) => void answer.then(resolve, reject) });
      if (this.#toOpen.length === 1) setImmediate(() => this.#openAll());
    });
    if (feed !== undefined) this.#feeds.set(row.workflow, feed);
    return feed;
  }

  /** Reads concurrent requests with one statement. */
  #openAll(): void {
    const all = this.#toOpen.splice(0);
    for (let at = 0; at < all.length; at += FEED_OPEN_MAX_COUNT) {
      const some = all.slice(at, at + FEED_OPEN_MAX_COUNT);
      const partitions = [...new Set(some.map(({ row }) => row.partition))];
      const found = this.#ports.store.loadPartitions(partitions);
      for (const { row, answer } of some) answer(found.then((loaded) => feedIn(loaded, row)));
    }
  }

  /** Sends the events from the position that the follower needs next, up to the last one. */
  async #replay(row: StreamPlacement, follower: Follower, last: () => number): Promise<void> {
    if (follower.next > last()) return;
    const { log, store } = this.#ports;
    const { sink, whose } = follower;
    const fold = new StreamFold(row);
    let from = await openingOffset(store, row.workflow);
    for (let maxBytes = REPLAY_READ_MIN_BYTES; !sink.closed.aborted && follower.next <= last(); ) {
      const giveBack = await this.#room.reserve(whose, maxBytes, sink.closed);
      let unread = (): void => {};
      try {
        // Reads take turns; sending runs at each follower's own pace, and no record is in memory meanwhile.
        const next = await this.#replays.run(async () =>
          sent(await historyPage(log, row, from, maxBytes), { fold, follower, last: last() }),
        );
        if (next === undefined) return;
        from = next;
        unread = this.#room.take(whose, sink.unreadBytes);
      } finally {
        giveBack();
      }
      maxBytes = sink.isFull ? REPLAY_READ_MIN_BYTES : Math.min(2 * maxBytes, REPLAY_READ_MAX_BYTES);
      await sink.drained().finally(unread);
    }
  }

  async #run(): Promise<void> {
    const { hints, clock } = this.#ports;
    const heard = (partitions: readonly Partition[]): void => {
      for (const partition of partitions) this.#dirty.add(partition);
      this.#wake?.();
    };
    this.#unsubscribe = await hints.subscribe('applied', heard).catch((error: unknown) => {
      // The sweep makes up for lost hints.
      this.#onError('follow', error);
      return undefined;
    });
    let sweptMs = clock.monotonicMs();
    while (!this.#closing.signal.aborted) {
      try {
        if (clock.monotonicMs() - sweptMs >= FEED_SWEEP_PERIOD_MS) {
          sweptMs = clock.monotonicMs();
          this.#letGo(sweptMs);
          await this.#poll(undefined);
        } else await this.#poll(this.#takeDirty());
      } catch (error) {
        if (!(error instanceof UnavailableError)) this.#onError('follow', error);
      }
      await this.#pause();
    }
  }

  #takeDirty(): ReadonlySet<Partition> {
    const dirty = this.#dirty;
    this.#dirty = new Set();
    return dirty;
  }

  async #pause(): Promise<void> {
    const { clock } = this.#ports;
    await clock.sleep(FEED_PAUSE_MS, this.#closing.signal);
    if (this.#dirty.size > 0 || this.#closing.signal.aborted) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await clock.sleep(FEED_SWEEP_PERIOD_MS, AbortSignal.any([woken.signal, this.#closing.signal]));
    this.#wake = undefined;
  }

  /** Feeds without followers for a while. */
  #letGo(nowMs: number): void {
    for (const [workflow, feed] of this.#feeds) {
      const left = feed.leftAtMs;
      if (left !== undefined && (feed.isOver || nowMs - left > FEED_LINGER_MS)) this.#feeds.delete(workflow);
    }
  }

  /** Reads what rows have applied since: of these partitions, or of all that are followed. */
  async #poll(partitions: ReadonlySet<Partition> | undefined): Promise<void> {
    const { store } = this.#ports;
    const feeds = new Map<Partition, Feed[]>();
    for (const feed of this.#feeds.values()) {
      const { partition } = feed.place;
      if (feed.isOver || (partitions !== undefined && !partitions.has(partition))) continue;
      const others = feeds.get(partition);
      if (others === undefined) feeds.set(partition, [feed]);
      else others.push(feed);
    }
    if (feeds.size === 0) return;
    const applied = await store.positions([...feeds.keys()]);
    for (;;) {
      const requests = [...feeds].flatMap(([partition, some]) => {
        const from = Math.min(...some.map(({ next }) => next)) as Offset;
        return from < (applied.get(partition) ?? 0) ? [{ partition, from }] : [];
      });
      if (requests.length === 0) return;
      let readCount = 0;
      const unreadable = new Map<Partition, unknown>();
      for (const { partition, records } of await this.#read(requests, unreadable)) {
        const end = applied.get(partition)!;
        const reported = records.filter(({ offset }) => offset < end);
        readCount += reported.length;
        const going = feeds.get(partition)!.filter((feed) => this.#add(feed, reported));
        if (going.length > 0) feeds.set(partition, going);
        else feeds.delete(partition);
      }
      for (const [partition, error] of unreadable) {
        for (const feed of feeds.get(partition)!) this.#fail(feed, error);
        feeds.delete(partition);
      }
      if (readCount === 0) return;
    }
  }

  /** Returns the readable ones, and notes the others with their errors. Throws `UnavailableError`. */
  async #read(requests: readonly ReadRequest[], unreadable: Map<Partition, unknown>): Promise<readonly ReadResult[]> {
    try {
      return await this.#ports.log.read(requests, { maxBytes: FEED_READ_MAX_BYTES });
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      if (requests.length === 1) {
        unreadable.set(requests[0]!.partition, error);
        return [];
      }
      // In halves: few of many are unreadable.
      const half = requests.length >> 1;
      const first = await this.#read(requests.slice(0, half), unreadable);
      return [...first, ...(await this.#read(requests.slice(half), unreadable))];
    }
  }

  /** False: its followers receive the reason why it can't continue. */
  #add(feed: Feed, records: ReadResult['records']): boolean {
    try {
      feed.add(records);
      return true;
    } catch (error) {
      this.#fail(feed, error);
      return false;
    }
  }

  /** Ends its followers' streams; a follower that returns begins with what rows hold then. */
  #fail(feed: Feed, error: unknown): void {
    if (this.#feeds.get(feed.workflow) === feed) this.#feeds.delete(feed.workflow);
    feed.fail(error);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake?.();
    await this.#running;
    await this.#unsubscribe?.();
  }
}

/** Sends what the follower takes of these records; where to go on. Undefined: there is nothing more to send. */
function sent(
  records: readonly StoredRecord[],
  { fold, follower, last }: { readonly fold: StreamFold; readonly follower: Follower; readonly last: number },
): Offset | undefined {
  for (const record of records) {
    const event = fold.add(record);
    if (event === undefined) continue;
    if (event.position > last) return undefined;
    report(follower, new SentEvent(event));
    if (follower.sink.isFull) return (record.offset + 1) as Offset;
  }
  return records.length === 0 ? undefined : ((records.at(-1)!.offset + 1) as Offset);
}

function feedIn(loaded: readonly FoldedPartition[], row: WorkflowSummary): Feed | undefined {
  const partition = loaded.find((each) => each.partition === row.partition);
  const folded = partition?.streams
    .map(({ state, tasks }) => streamFromJson(state, tasks))
    .find(({ workflow }) => workflow === row.workflow);
  if (partition === undefined || (folded === undefined && isOpen(row))) {
    throw new UnavailableError('store-rebuilding', 'The rows are being rebuilt from the log; try again later');
  }
  if (folded === undefined || isClosed(folded)) return undefined;
  const { workflow, generation } = row;
  return new Feed({ workflow, partition: row.partition, generation }, folded, partition.next);
}

const isOpen = ({ closedInGeneration }: WorkflowSummary): boolean => closedInGeneration === null;
