/**
 * Owns one thread in this process: its stream, who may write it, and the order of what is asked. Writes that come together go to the log
 * together.
 *
 * T1 An invocation writes only while nobody else wrote the thread since it began: neither another process, which the stream's fence shows,
 *    nor another invocation in this one. After its first refusal nothing more of it is kept, wherever in the thread it writes.
 * T2 Whoever is no invocation (`updateState`) writes on from the newest checkpoint that it read, or from one that it read by its id.
 */

import { ConflictError, FencedError, InvalidError, type Json, LimitError, type Sequence } from '@tidemark/core';
import { callsInOrder, type NamedStream, type NewEntry, type RecordedStream, sha256Digest } from '@tidemark/runtime';
import {
  type Entry,
  type Heads,
  type KeptCheckpoint,
  keptOf,
  type NewCheckpoint,
  own,
  type WritesEntry,
  withRoom,
} from './kept.ts';

/** Checkpoints that a thread remembers as read (T2), and as written to before they were put. */
const REMEMBERED_MAX_COUNT = 1_000;
/** Entries that the first page of a history reads, and the largest. */
const PAGE_FIRST_COUNT = 16;
const PAGE_MAX_COUNT = 256;
/** Characters of an entry's description. */
const DESCRIPTION_MAX_CHARS = 200;

export interface FoundCheckpoint {
  readonly namespace: string;
  readonly kept: KeptCheckpoint;
  /** In the order of the log. */
  readonly writes: readonly WritesEntry[];
}

export type NewWrites = WritesEntry & { readonly id: string };

/** What an invocation stands on: the thread as it was when it began, and what it wrote since. */
export class Invocation {
  readonly thread: Thread;
  /** The stream's id; undefined: there was none. */
  stream: string | undefined;
  sequence: number;
  /** Why nothing more of it is kept. */
  refusal: Error | undefined;

  constructor(thread: Thread, stream: RecordedStream | undefined) {
    this.thread = thread;
    this.stream = stream?.workflow;
    this.sequence = stream?.sequence ?? 0;
  }
}

interface Waiting {
  readonly given: Promise<NewCheckpoint | NewWrites>;
  /** Undefined: whoever is no invocation. */
  readonly by: Invocation | undefined;
  readonly settle: (error?: unknown) => void;
}

/** What waits, as it would be written behind what was prepared before it. */
interface Prepared {
  readonly entries: readonly NewEntry[];
  readonly heads: Heads;
}

export class Thread {
  readonly name: string;
  readonly #streams: NamedStream;
  /** As this process knows it. Whoever writes says on what it stands, so a newer one may take its place at any time. */
  #stream: RecordedStream | undefined;
  /** What was read by whom is no invocation, as the newest or by its id; '' stands for none (T2). */
  readonly #read = new Remembered<'newest' | 'by-id'>();
  /** The first entry with writes to a checkpoint that is not put yet. */
  readonly #writtenBefore = new Remembered<Sequence>();
  /** Stands for all who are no invocation, from their last read on; undefined: nobody read yet. */
  #direct: Invocation | undefined;
  #waiting: Waiting[] = [];
  readonly #inTurn = callsInOrder();

  constructor(name: string, streams: NamedStream) {
    this.name = name;
    this.#streams = streams;
  }

  /** An invocation that begins with the thread as the log has it now, and what it reads of the root; see `read`. */
  begin(
    id: string | undefined,
  ): Promise<{ readonly invocation: Invocation; readonly found?: FoundCheckpoint | undefined }> {
    return this.#inTurn(async () => {
      const found = await this.#found('', id);
      return { invocation: new Invocation(this, this.#stream), found };
    });
  }

  async #found(namespace: string, id: string | undefined): Promise<FoundCheckpoint | undefined> {
    const stream = await this.#streams.find();
    this.#stream = stream;
    return stream && (id === undefined ? newestIn(stream, namespace) : findIn(stream, namespace, id));
  }

  /** The newest checkpoint of the namespace, or the one of this id, by the log; undefined: there is none. `by`: who reads it to go on from it. */
  read(namespace: string, id: string | undefined, by?: Invocation): Promise<FoundCheckpoint | undefined> {
    return this.#inTurn(async () => {
      const found = await this.#found(namespace, id);
      if (by !== undefined) return found;
      this.#direct = new Invocation(this, this.#stream);
      if (id === undefined) this.#read.set(namespace, found?.kept.id ?? '', 'newest');
      else if (found !== undefined) this.#read.set(namespace, id, 'by-id');
      return found;
    });
  }

  /** All checkpoints from the newest entry to the oldest, as the log has them now. */
  async *history(): AsyncGenerator<FoundCheckpoint> {
    const stream = await this.#inTurn(() => this.#streams.find());
    if (stream === undefined) return;
    const writes = new Map<string, WritesEntry[]>();
    const seen = new Set<string>();
    let to: number = stream.sequence;
    for (let count = PAGE_FIRST_COUNT; to > 0; count = Math.min(2 * count, PAGE_MAX_COUNT)) {
      const from = Math.max(1, to - count + 1) as Sequence;
      for (const { step, output, belief } of (await stream.entries(from, to as Sequence)).toReversed()) {
        const entry = entryIn(output);
        const { namespace } = entry;
        const key = keyOf(namespace, step);
        const later = writes.get(key) ?? [];
        if (entry.kind === 'writes') writes.set(key, [entry, ...later]);
        if (entry.kind !== 'put' || seen.has(key)) continue;
        seen.add(key);
        writes.delete(key);
        const kept = entry.again ?? own(headsIn(belief), namespace)!;
        const all = kept.since < kept.at ? await writesIn(stream, namespace, kept) : later;
        yield { namespace, kept, writes: all };
      }
      to = from - 1;
    }
  }

  /** Resolves once the log has it. Throws `ConflictError` (`thread-written-elsewhere`, `checkpoint-unknown`), `InvalidError`, `LimitError`. */
  write(given: Promise<NewCheckpoint | NewWrites>, by: Invocation | undefined): Promise<void> {
    given.catch(() => {});
    return new Promise((resolve, reject) => {
      this.#waiting.push({ given, by, settle: (error) => (error === undefined ? resolve() : reject(error)) });
      // The first to have the turn takes all that wait.
      void this.#inTurn(() => this.#writeAll());
    });
  }

  /** Nothing is written before the thread is read again: what was deleted does not come back. */
  refuse(why: Error): void {
    this.#direct = new Invocation(this, undefined);
    this.#direct.refusal = why;
  }

  async #writeAll(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    // Where one does not fit, nothing of it left this process, and each is tried by itself.
    if (waiting.length > 1 && (await this.#write(waiting, false))) return;
    for (const one of waiting) await this.#write([one], true);
  }

  /** Writes all of them in one go, and settles them. False: one does not fit, nothing was written, and nobody was told (unless `isLast`). */
  async #write(waiting: readonly Waiting[], isLast: boolean): Promise<boolean> {
    const entries: NewEntry[] = [];
    const staged: Waiting[] = [];
    const failed: [Waiting, unknown][] = [];
    const positions = new Map<Invocation, number>();
    try {
      this.#stream ??= (await this.#streams.find()) ?? (await this.#opened(waiting));
      if (this.#stream === undefined) return true;
      const stream = this.#stream;
      let heads = headsIn(stream.belief);
      for (const one of waiting) {
        const before = stream.sequence + entries.length;
        this.#direct ??= new Invocation(this, stream);
        const by = one.by ?? this.#direct;
        try {
          const given = await one.given;
          this.#refuseOthers(by, positions.get(by), stream, before);
          const prepared = await this.#prepared(given, one.by === undefined, stream, heads, before);
          entries.push(...prepared.entries);
          heads = prepared.heads;
          positions.set(by, before + prepared.entries.length);
          staged.push(one);
        } catch (error) {
          failed.push([one, error]);
        }
      }
      if (entries.length > 0) await stream.write(entries);
      for (const [by, upTo] of positions) [by.stream, by.sequence] = [stream.workflow, upTo];
      for (const { settle } of staged) settle();
    } catch (error) {
      // It holds what was not written.
      this.#stream = undefined;
      if (!isLast && (error instanceof LimitError || error instanceof InvalidError)) return false;
      const refusal = error instanceof FencedError ? writtenElsewhere(this.name, error) : error;
      for (const one of waiting) if (!failed.some(([other]) => other === one)) failed.push([one, refusal]);
    }
    for (const [one, error] of failed) this.#fail(one, error);
    return true;
  }

  /** A new stream, where one of those who wait may begin it; else all of them are refused, and lists show nothing. */
  async #opened(waiting: readonly Waiting[]): Promise<RecordedStream | undefined> {
    const failed: [Waiting, unknown][] = [];
    for (const one of waiting) {
      const { refusal, stream } = one.by ?? this.#direct ?? {};
      try {
        if (refusal !== undefined || stream !== undefined) throw refusal ?? writtenElsewhere(this.name);
        const given = await one.given;
        if (given.kind === 'put' && given.parent !== null) throw unknown(this.name, given.namespace, given.parent);
      } catch (error) {
        failed.push([one, error]);
      }
    }
    if (failed.length < waiting.length) return this.#streams.open();
    for (const [one, error] of failed) this.#fail(one, error);
    return undefined;
  }

  #fail({ by = this.#direct, settle }: Waiting, error: unknown): void {
    // What does not fit says nothing of who may write.
    const isFit = error instanceof Error && !(error instanceof LimitError || error instanceof InvalidError);
    if (isFit && by !== undefined) by.refusal = error;
    settle(error);
  }

  /** T1. `position`: what it has written in the same go. */
  #refuseOthers(by: Invocation, position: number | undefined, stream: RecordedStream, before: number): void {
    if (by.refusal !== undefined) throw by.refusal;
    const isSame =
      by.stream === stream.workflow || (by.stream === undefined && by.sequence === 0) || position !== undefined;
    if (!isSame || (position ?? by.sequence) !== before) throw writtenElsewhere(this.name);
  }

  /** T2. */
  #refuseUnread(namespace: string, from: string, head: string, isPut: boolean): void {
    // What left the belief is the newest of its namespace all the same.
    if (from === head || (head === '' && namespace !== '')) return;
    const read = this.#read.get(namespace, from);
    if (read === 'newest' || (isPut && from !== '' && read === undefined)) throw writtenElsewhere(this.name);
  }

  async #prepared(
    given: NewCheckpoint | NewWrites,
    isDirect: boolean,
    stream: RecordedStream,
    heads: Heads,
    before: number,
  ): Promise<Prepared> {
    const { namespace, id } = given;
    const head = own(heads, namespace);
    const isHead = head?.id === id;
    if (given.kind === 'writes') {
      if (isDirect) this.#refuseUnread(namespace, id, head?.id ?? '', false);
      const { id: _, ...entry } = given;
      // A checkpoint that is put later says from where its writes begin.
      if (!isHead && this.#writtenBefore.get(namespace, id) === undefined) {
        this.#writtenBefore.set(namespace, id, (before + 1) as Sequence);
      }
      return { entries: [{ step: id, what: describedWrites(entry), output: json(entry) }], heads };
    }
    const base = await this.#valuesOf(stream, namespace, given.parent, head);
    // A copy has the parent of what it copies.
    const isCopy = (given.metadata as { readonly source?: Json } | null)?.source === 'fork';
    if (isDirect && !isCopy) this.#refuseUnread(namespace, given.parent ?? '', head?.id ?? '', true);
    const known = isHead || head === undefined || id > head.id ? undefined : await findIn(stream, namespace, id);
    const room = known === undefined ? withRoom(heads, namespace) : { heads, left: [] };
    const at = (before + room.left.length + 1) as Sequence;
    const since = (isHead ? head.since : known?.kept.since) ?? this.#writtenBefore.get(namespace, id) ?? at;
    const kept = keptOf(given, base, { at, since });
    const put = { step: id, what: described(given) };
    if (known !== undefined) {
      return { entries: [{ ...put, output: json({ kind: 'put', namespace, again: kept }) }], heads };
    }
    if (isDirect) this.#read.set(namespace, id, 'newest');
    const left = room.left.map((entry): NewEntry => {
      return { step: leftStep(entry.namespace), what: 'a namespace that is used no more', output: json(entry) };
    });
    const after = { ...room.heads, [namespace]: kept };
    const entries = [...left, { ...put, output: json({ kind: 'put', namespace }), belief: json(after) }];
    return { entries, heads: after };
  }

  async #valuesOf(
    stream: RecordedStream,
    namespace: string,
    parent: string | null,
    head: KeptCheckpoint | undefined,
  ): Promise<KeptCheckpoint['values']> {
    if (parent === null) return {};
    if (head?.id === parent) return head.values;
    const found = await findIn(stream, namespace, parent);
    if (found !== undefined) return found.kept.values;
    throw unknown(this.name, namespace, parent);
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
}

const keyOf = (namespace: string, id: string): string => JSON.stringify([namespace, id]);

async function newestIn(stream: RecordedStream, namespace: string): Promise<FoundCheckpoint | undefined> {
  let kept = own(headsIn(stream.belief), namespace);
  if (kept === undefined && namespace !== '') {
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

/** A namespace may be longer than a name of an entry. */
const leftStep = (namespace: string): string => `namespace#${sha256Digest.sha256(namespace)}`;

const headsIn = (belief: Json): Heads => (belief ?? {}) as unknown as Heads;

const entryIn = (output: Json): Entry => output as unknown as Entry;

const json = (value: object): Json => value as unknown as Json;

function described({ metadata, changed, namespace }: NewCheckpoint): string {
  const { source, step } = (metadata ?? {}) as { readonly source?: Json; readonly step?: Json };
  const channels = Object.keys(changed).join(', ');
  const place = namespace === '' ? '' : `${namespace}: `;
  return `${place}${source} ${step}, sets ${channels === '' ? 'nothing' : channels}`.slice(0, DESCRIPTION_MAX_CHARS);
}

const describedWrites = ({ path, task, writes }: WritesEntry): string =>
  `writes of ${path === '' ? task : path}: ${writes.map(({ channel }) => channel).join(', ')}`.slice(
    0,
    DESCRIPTION_MAX_CHARS,
  );

const writtenElsewhere = (thread: string, cause?: Error): ConflictError =>
  new ConflictError(
    'thread-written-elsewhere',
    `Thread ${thread} was written by another process or invocation since this one read it: nothing more of this one is kept. Invoke it again, and it resumes from what the other wrote.`,
    { thread, ...(cause !== undefined && { cause }) },
  );

const unknown = (thread: string, namespace: string, checkpoint: string): ConflictError =>
  new ConflictError(
    'checkpoint-unknown',
    `Thread ${thread} has no checkpoint ${checkpoint}, from which this one follows: what put it was refused.`,
    { thread, namespace, checkpoint },
  );
