/**
 * Owns one thread in this process: its stream, and the order of what is asked of it. Writes that come together go to the log together.
 *
 * T1 A write is refused when another process wrote since this one read the newest checkpoint, and nothing of it is kept. So is every later
 *    one, until the newest checkpoint is read again.
 * T2 Within one process, what follows from a checkpoint that was the newest is refused once it no longer is. Who reads a checkpoint by its id
 *    may go on from it at any time: that is the framework's time travel.
 */

import { ConflictError, FencedError, InvalidError, type Json, LimitError, type Sequence } from '@tidemark/core';
import type { NewEntry, RecordedStream } from '@tidemark/runtime';
import {
  type Entry,
  HEADS_MAX_COUNT,
  type Heads,
  type KeptCheckpoint,
  keptOf,
  type NewCheckpoint,
  own,
  type WritesEntry,
  withHead,
} from './kept.ts';

/** Checkpoints that one namespace remembers as once the newest (T2), and those with writes before they were put. */
const REMEMBERED_MAX_COUNT = 1_000;
/** Entries that the first page of a history reads, and the largest. */
const PAGE_FIRST_COUNT = 16;
const PAGE_MAX_COUNT = 256;
/** Characters of an entry's description. */
const WORDS_MAX_CHARS = 200;

export interface FoundCheckpoint {
  readonly namespace: string;
  readonly kept: KeptCheckpoint;
  /** In the order of the log. */
  readonly writes: readonly WritesEntry[];
}

export type NewWrites = WritesEntry & { readonly id: string };

/** The stream of a thread; `open` makes it where there is none. */
export interface ThreadStreams {
  find(): Promise<RecordedStream | undefined>;
  open(): Promise<RecordedStream>;
}

interface Waiting {
  readonly given: Promise<NewCheckpoint | NewWrites>;
  readonly settle: (error?: unknown) => void;
}

/** A write as it goes to the log: one entry, or two where a namespace leaves the belief. */
interface Staged {
  readonly entries: readonly NewEntry[];
  readonly settle: (error?: unknown) => void;
}

export class Thread {
  readonly #name: string;
  readonly #streams: ThreadStreams;
  #stream: RecordedStream | undefined;
  /** There was no such thread when its newest checkpoint was read. */
  #isNew = false;
  /** Set once a write was refused or is in doubt (T1). */
  #lost: Error | undefined;
  /** Checkpoints that were the newest of their namespace when they were read or put; '' stands for none (T2). */
  readonly #newest = new Remembered<true>();
  /** The first entry with writes to a checkpoint that is not put yet. */
  readonly #early = new Remembered<Sequence>();
  #waiting: Waiting[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(name: string, streams: ThreadStreams) {
    this.#name = name;
    this.#streams = streams;
  }

  /** One after the other, in the order of the calls. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** The newest checkpoint of the namespace, by the log; undefined: there is none. */
  newest(namespace: string): Promise<FoundCheckpoint | undefined> {
    return this.#inTurn(async () => {
      this.#stream = await this.#streams.find();
      this.#lost = undefined;
      this.#isNew = this.#stream === undefined;
      const found = this.#stream && (await newestIn(this.#stream, namespace));
      this.#newest.set(namespace, found?.kept.id ?? '', true);
      return found;
    });
  }

  /** The checkpoint of this id, whoever put it; undefined: there is none. */
  byId(namespace: string, id: string): Promise<FoundCheckpoint | undefined> {
    return this.#inTurn(async () => {
      const known = this.#stream && (await findIn(this.#stream, namespace, id));
      // By a view of its own, so that what this process goes on from stays what it read (T1).
      const elsewhere = known === undefined ? await this.#streams.find() : undefined;
      this.#stream ??= elsewhere;
      const found = known ?? (elsewhere && (await findIn(elsewhere, namespace, id)));
      if (found !== undefined) this.#newest.delete(namespace, id);
      return found;
    });
  }

  /** All checkpoints from the newest entry to the oldest, as the log has them now. */
  async *history(): AsyncGenerator<FoundCheckpoint> {
    const stream = await this.#inTurn(() => this.#streams.find());
    if (stream === undefined) return;
    const writes = new Remembered<readonly WritesEntry[]>();
    const seen = new Remembered<true>();
    for (
      let [to, count] = [stream.sequence as number, PAGE_FIRST_COUNT];
      to > 0;
      count = Math.min(2 * count, PAGE_MAX_COUNT)
    ) {
      const from = Math.max(1, to - count + 1) as Sequence;
      for (const { step, output, belief } of (await stream.entries(from, to as Sequence)).toReversed()) {
        const entry = entryIn(output);
        const { namespace } = entry;
        const later = writes.get(namespace, step) ?? [];
        if (entry.kind === 'writes') writes.set(namespace, step, [entry, ...later]);
        if (entry.kind !== 'put' || seen.get(namespace, step) !== undefined) continue;
        seen.set(namespace, step, true);
        const kept = entry.again ?? own(headsIn(belief), namespace)!;
        const all = kept.since < kept.at ? await writesIn(stream, namespace, kept) : later;
        yield { namespace, kept, writes: all };
      }
      to = from - 1;
    }
  }

  /** Resolves once the log has it. Throws `ConflictError` (`thread-written-elsewhere`, `thread-moved-on`), `InvalidError`, `LimitError`. */
  write(given: Promise<NewCheckpoint | NewWrites>): Promise<void> {
    given.catch(() => {});
    return new Promise((resolve, reject) => {
      this.#waiting.push({ given, settle: (error) => (error === undefined ? resolve() : reject(error)) });
      // The first to have the turn takes all that wait.
      void this.#inTurn(() => this.#writeAll());
    });
  }

  async #writeAll(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length === 0) return;
    const staged: Staged[] = [];
    try {
      if (this.#lost !== undefined) throw this.#lost;
      this.#stream ??= await this.#opened();
      let [heads, at] = [headsIn(this.#stream.belief), this.#stream.sequence as number];
      for (const { given, settle } of waiting) {
        try {
          const [entries, after] = await this.#entriesOf(await given, heads, (at + 1) as Sequence);
          staged.push({ entries, settle });
          at += entries.length;
          heads = after;
        } catch (error) {
          settle(error);
        }
      }
      await this.#send(staged);
    } catch (error) {
      this.#stream = undefined;
      this.#lost =
        error instanceof FencedError ? writtenElsewhere(this.#name, error) : (this.#lost ?? inDoubt(this.#name, error));
      for (const { settle } of waiting) settle(this.#lost);
    }
  }

  async #opened(): Promise<RecordedStream> {
    const opened = await this.#streams.open();
    if (this.#isNew && opened.sequence > 0) throw new FencedError('stream-moved', 'Another process began it.');
    return opened;
  }

  /** Together, or by halves where they are too large together. */
  async #send(staged: readonly Staged[]): Promise<void> {
    const stream = this.#stream;
    const entries = staged.flatMap((each) => each.entries);
    if (stream === undefined || entries.length === 0) return;
    try {
      await stream.write(entries);
    } catch (error) {
      if (!(error instanceof LimitError || error instanceof InvalidError)) throw error;
      // Nothing of it left this process.
      const again = await this.#streams.find();
      if (again?.sequence !== stream.sequence)
        throw new FencedError('stream-moved', 'Another process wrote.', { cause: error });
      this.#stream = again;
      if (staged.length === 1) {
        staged[0]!.settle(error);
        return;
      }
      const half = staged.length >> 1;
      await this.#send(staged.slice(0, half));
      await this.#send(staged.slice(half));
      return;
    }
    for (const { settle } of staged) settle();
  }

  async #entriesOf(
    given: NewCheckpoint | NewWrites,
    heads: Heads,
    at: Sequence,
  ): Promise<readonly [readonly NewEntry[], Heads]> {
    const { namespace, id } = given;
    const head = own(heads, namespace);
    if (given.kind === 'writes') {
      this.#refuseMovedOn(namespace, id, head);
      const { id: _, ...entry } = given;
      // A checkpoint that is put later says from where its writes begin.
      if (head?.id !== id && this.#early.get(namespace, id) === undefined) this.#early.set(namespace, id, at);
      return [[{ step: id, what: wordsOfWrites(entry), output: json(entry) }], heads];
    }
    if (sourceOf(given) !== 'fork') this.#refuseMovedOn(namespace, given.parent ?? '', head);
    const base = await this.#valuesOf(namespace, given.parent, head);
    const kept = keptOf(given, base, { at, since: this.#early.get(namespace, id) ?? at });
    if (head !== undefined && id < head.id && (await findIn(this.#stream!, namespace, id)) !== undefined) {
      const entry: Entry = { kind: 'put', namespace, again: kept };
      return [[{ step: id, what: wordsOf(given), output: json(entry) }], heads];
    }
    const [after, left] = withHead(heads, namespace, kept);
    this.#early.delete(namespace, id);
    this.#newest.set(namespace, id, true);
    const entry: Entry = { kind: 'put', namespace };
    const put: NewEntry = { step: id, what: wordsOf(given), output: json(entry), belief: json(after) };
    if (left === undefined) return [[put], after];
    return [
      [put, { step: leftStep(left.namespace), what: 'a namespace that is used no more', output: json(left) }],
      after,
    ];
  }

  /** T2. */
  #refuseMovedOn(namespace: string, id: string, head: KeptCheckpoint | undefined): void {
    if ((head?.id ?? '') === id || this.#newest.get(namespace, id) === undefined) return;
    // A namespace that the belief left is still the newest there is.
    if (head === undefined && id !== '') return;
    throw new ConflictError(
      'thread-moved-on',
      `Thread ${this.#name} has gone on to checkpoint ${head?.id} since ${id === '' ? 'its beginning' : id} was read: two invocations run it at once, and this one keeps nothing more. Invoke it again once the other has ended.`,
      { thread: this.#name, namespace, newest: head?.id ?? null },
    );
  }

  async #valuesOf(namespace: string, parent: string | null, head: KeptCheckpoint | undefined) {
    if (parent === null) return {};
    if (head?.id === parent) return head.values;
    const found = await findIn(this.#stream!, namespace, parent);
    if (found !== undefined) return found.kept.values;
    throw new ConflictError(
      'checkpoint-unknown',
      `Thread ${this.#name} has no checkpoint ${parent}, from which this one follows: what put it was refused.`,
      { thread: this.#name, namespace, checkpoint: parent },
    );
  }
}

/** Values by namespace and checkpoint; the oldest go. */
class Remembered<T> {
  readonly #of = new Map<string, T>();

  get(namespace: string, id: string): T | undefined {
    return this.#of.get(keyOf(namespace, id));
  }

  set(namespace: string, id: string, value: T): void {
    this.#of.delete(keyOf(namespace, id));
    this.#of.set(keyOf(namespace, id), value);
    if (this.#of.size <= REMEMBERED_MAX_COUNT) return;
    for (const oldest of this.#of.keys()) {
      this.#of.delete(oldest);
      return;
    }
  }

  delete(namespace: string, id: string): void {
    this.#of.delete(keyOf(namespace, id));
  }
}

const keyOf = (namespace: string, id: string): string => JSON.stringify([namespace, id]);

async function newestIn(stream: RecordedStream, namespace: string): Promise<FoundCheckpoint | undefined> {
  const heads = headsIn(stream.belief);
  let kept = own(heads, namespace);
  if (kept === undefined && Object.keys(heads).length >= HEADS_MAX_COUNT - 1) {
    const left = (await stream.named(leftStep(namespace))).at(-1);
    const entry = left && entryIn(left.output);
    if (entry?.kind === 'left') kept = own(headsIn(await stream.beliefAt(entry.at)), namespace);
  }
  return kept && { namespace, kept, writes: await writesIn(stream, namespace, kept) };
}

async function findIn(stream: RecordedStream, namespace: string, id: string): Promise<FoundCheckpoint | undefined> {
  const head = own(headsIn(stream.belief), namespace);
  if (head?.id === id) return { namespace, kept: head, writes: await writesIn(stream, namespace, head) };
  const named = (await stream.named(id)).flatMap(({ sequence, output }) => {
    const entry = entryIn(output);
    return entry.namespace === namespace ? [{ sequence, entry }] : [];
  });
  const put = named.findLast(({ entry }) => entry.kind === 'put');
  if (put?.entry.kind !== 'put') return undefined;
  const kept = put.entry.again ?? own(headsIn(await stream.beliefAt(put.sequence)), namespace)!;
  return { namespace, kept, writes: named.flatMap(({ entry }) => (entry.kind === 'writes' ? entry : [])) };
}

async function writesIn(stream: RecordedStream, namespace: string, { id, since }: KeptCheckpoint) {
  const named = (await stream.named(id, since)).map(({ output }) => entryIn(output));
  return named.flatMap((entry) => (entry.kind === 'writes' && entry.namespace === namespace ? entry : []));
}

const leftStep = (namespace: string): string => `namespace:${namespace}`;

const headsIn = (belief: Json): Heads => (belief ?? {}) as unknown as Heads;

const entryIn = (output: Json): Entry => output as unknown as Entry;

const json = (value: object): Json => value as unknown as Json;

const sourceOf = ({ metadata }: NewCheckpoint): Json | undefined =>
  typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
    ? (metadata as { readonly [name: string]: Json }).source
    : undefined;

function wordsOf(given: NewCheckpoint): string {
  const { metadata, changed, namespace } = given;
  const step = (metadata as { readonly step?: Json } | null)?.step;
  const channels = Object.keys(changed).join(', ');
  return `${namespace === '' ? '' : `${namespace}: `}${sourceOf(given)} ${step}, sets ${channels === '' ? 'nothing' : channels}`.slice(
    0,
    WORDS_MAX_CHARS,
  );
}

const wordsOfWrites = ({ path, task, writes }: WritesEntry): string =>
  `writes of ${path === '' ? task : path}: ${writes.map(({ channel }) => channel).join(', ')}`.slice(
    0,
    WORDS_MAX_CHARS,
  );

const writtenElsewhere = (name: string, cause: Error): ConflictError =>
  new ConflictError(
    'thread-written-elsewhere',
    `Another process has written thread ${name} since this one read it: nothing more of this invocation is kept. Invoke it again, and it goes on from what the other wrote.`,
    { thread: name, cause },
  );

const inDoubt = (name: string, cause: unknown): Error =>
  cause instanceof Error
    ? cause
    : new InvalidError('thread-failed', `Thread ${name}: ${String(cause)}`, { thread: name });
