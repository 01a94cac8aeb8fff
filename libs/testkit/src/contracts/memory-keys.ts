/**
 * Owns the two halves of a cluster's key store in memory, for tests: a topic with one partition, which can be compacted, and an index.
 * Tests can make both fail. They keep to the contracts of KeyTopic and KeyIndex, which they run too.
 */

import { type Offset, type Partition, partition, UnavailableError } from '@tidemark/core';
import {
  type AppliedBatch,
  type KeyBatch,
  type KeyChange,
  type KeyFilter,
  type KeyIndex,
  type KeyOffsets,
  type KeyPage,
  type KeyProvider,
  type KeyTopic,
  keyWrong,
  type StoredKey,
} from '@tidemark/ports';

const P0 = partition(0);
const PAGE_COUNT = 100;

interface TopicRecord {
  readonly offset: number;
  readonly key: string;
  readonly change: KeyChange;
}

/** Content of a topic, shared by all that have it open. */
interface TopicContent {
  records: readonly TopicRecord[];
  end: number;
}

/** Throws before or after the operation is done, as servers do. */
export type Failing = 'before' | 'after' | undefined;

const gone = (what: string): UnavailableError => new UnavailableError('keys-unavailable', `The ${what} is away.`);

export class MemoryKeyTopic implements KeyTopic {
  readonly place = 'the topic in memory';
  failing: Failing;
  /** Awaited by every reading, after it has found the end. */
  onRead: (() => Promise<void>) | undefined;
  readCount = 0;
  readonly #content: TopicContent;
  #isClosed = false;

  constructor(content: TopicContent = { records: [], end: 0 }) {
    this.#content = content;
  }

  /** The same records, as another process sees them. */
  again(): MemoryKeyTopic {
    return new MemoryKeyTopic(this.#content);
  }

  /** The wrapped bytes in it. */
  get wrapped(): readonly string[] {
    return this.#content.records.flatMap(({ change }) => (change.kind === 'put' ? [change.key.wrapped] : []));
  }

  async append(keys: readonly StoredKey[]): Promise<void> {
    this.#write(keys.map((key) => [key.id, { kind: 'put', key }]));
  }

  async destroy(ids: readonly string[]): Promise<void> {
    this.#write(
      ids.flatMap((id) => [
        [id, { kind: 'destroyed', id }],
        [`destroyed/${id}`, { kind: 'destroyed', id }],
      ]),
    );
  }

  async *readAll(from: KeyOffsets = new Map()): AsyncIterable<KeyPage> {
    this.readCount++;
    this.#check();
    const { end } = this.#content;
    let at: number = from.get(P0) ?? 0;
    await this.onRead?.();
    while (at < end) {
      if (this.failing !== undefined) throw gone('topic');
      const page = this.#content.records.filter(({ offset }) => offset >= at).slice(0, PAGE_COUNT);
      at = page.length < PAGE_COUNT ? this.#content.end : page.at(-1)!.offset + 1;
      yield { changes: page.map(({ change }) => change), next: new Map([[P0, at as Offset]]) };
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** As when the topic was deleted and recreated, empty. */
  lose(): void {
    this.#content.records = [];
    this.#content.end = 0;
  }

  /** As a broker does: keeps the last record of each record key, and drops empty ones too. */
  compact(): void {
    const { records } = this.#content;
    const last = new Map(records.map((record) => [record.key, record]));
    this.#content.records = records.filter((record) => {
      const isEmpty = record.change.kind === 'destroyed' && record.key === record.change.id;
      return last.get(record.key) === record && !isEmpty;
    });
  }

  #check(): void {
    if (this.#isClosed || this.failing === 'before') throw gone('topic');
  }

  #write(records: readonly (readonly [key: string, change: KeyChange])[]): void {
    this.#check();
    const added = records.map(([key, change]) => ({ offset: this.#content.end++, key, change }));
    this.#content.records = [...this.#content.records, ...added];
    if (this.failing === 'after') throw gone('topic');
  }
}

export class MemoryKeyIndex implements KeyIndex {
  failing: Failing;
  /** Awaited by every application, before anything is compared. */
  onApply: (() => Promise<void>) | undefined;
  #keys = new Map<string, StoredKey>();
  #destroyed = new Set<string>();
  #offsets = new Map<Partition, Offset>();

  /** As when the database was dropped. */
  lose(): void {
    this.#keys.clear();
    this.#destroyed.clear();
    this.#offsets.clear();
  }

  async applied(): Promise<KeyOffsets> {
    this.#check();
    return new Map(this.#offsets);
  }

  async apply({ puts, destroyed, from, next }: KeyBatch): Promise<AppliedBatch> {
    await this.onApply?.();
    this.#check();
    for (const at of next.keys()) if (this.#offsets.get(at) !== from.get(at)) return { isApplied: false };
    const refused: string[] = [];
    for (const id of destroyed) {
      this.#destroyed.add(id);
      this.#keys.delete(id);
    }
    for (const key of puts) {
      if (this.#destroyed.has(key.id)) refused.push(key.id);
      else this.#keys.set(key.id, key);
    }
    for (const [at, offset] of next) this.#offsets.set(at, offset);
    if (this.failing === 'after') throw gone('index');
    return { isApplied: true, refused };
  }

  async get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>> {
    this.#check();
    const known = ids.filter((id) => this.#keys.has(id) || this.#destroyed.has(id));
    return new Map(known.map((id) => [id, this.#keys.get(id) ?? null]));
  }

  async *list(filter: KeyFilter): AsyncIterable<StoredKey> {
    this.#check();
    const matches = (key: StoredKey): boolean =>
      Object.entries(filter).every(
        ([name, value]) => value === undefined || [value].flat().includes(key[name as keyof StoredKey]),
      );
    for (let after = ''; ; ) {
      const rest = [...this.#keys.values()].filter((key) => key.id > after && matches(key));
      const page = rest.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, PAGE_COUNT);
      yield* page;
      if (page.length < PAGE_COUNT) return;
      after = page.at(-1)!.id;
    }
  }

  #check(): void {
    if (this.failing === 'before') throw gone('index');
  }
}

/** Hides nothing, and refuses keys of another provider, as all providers do. */
export const plainKeyProvider: KeyProvider = {
  name: 'plain',
  current: async () => 'plain',
  wrap: async (key) => ({ provider: 'plain', wrappedBy: 'plain', wrapped: Buffer.from(key).toString('base64') }),
  async unwrap(key, context) {
    if (key.provider !== 'plain') throw keyWrong(key, context, 'is not for this provider');
    return new Uint8Array(Buffer.from(key.wrapped, 'base64'));
  },
  close: async () => {},
};
