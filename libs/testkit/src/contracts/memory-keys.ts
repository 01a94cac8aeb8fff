/**
 * Owns keys in memory, for tests: a provider, and the two halves of a cluster's key store, a topic with one partition, which can be
 * compacted, and an index. Tests can make each fail. They keep to the contracts of KeyProvider, KeyTopic and KeyIndex, which they run too.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type Offset, type Partition, partition, UnavailableError } from '@tidemark/core';
import {
  type AppliedBatch,
  type KeyBatch,
  type KeyChange,
  type KeyContext,
  type KeyFilter,
  type KeyIndex,
  type KeyOffsets,
  type KeyPage,
  type KeyProvider,
  type KeyTopic,
  keyWrong,
  type StoredKey,
  type WrappedKey,
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

/** Wraps with keys that are nowhere else. */
export class MemoryKeyProvider implements KeyProvider {
  readonly name = 'memory';
  /** Of the key that wraps from now on. */
  version = 1;
  /** The operations, in the order in which they were called. */
  calls: string[] = [];
  /** Called before each operation; may wait, or throw. */
  onCall: ((operation: string) => Promise<void> | void) | undefined;
  /** Wrapped texts that can't be unwrapped. */
  readonly wrong = new Set<string>();
  readonly #keys: Map<string, Buffer>;

  constructor(keys = new Map<string, Buffer>()) {
    this.#keys = keys;
  }

  /** The same keys, as another process has them. */
  again(): MemoryKeyProvider {
    const other = new MemoryKeyProvider(this.#keys);
    other.version = this.version;
    return other;
  }

  count(operation: string): number {
    return this.calls.filter((call) => call === operation).length;
  }

  async current(): Promise<string> {
    await this.#called('current');
    return this.#current();
  }

  async wrap(dataKey: Uint8Array, context: KeyContext): Promise<WrappedKey> {
    await this.#called('wrap');
    const wrappedBy = this.#current();
    const key = this.#keys.get(wrappedBy) ?? randomBytes(32);
    this.#keys.set(wrappedBy, key);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(aboutOf(context));
    const sealed = [nonce, cipher.update(dataKey), cipher.final(), cipher.getAuthTag()];
    return { provider: this.name, wrappedBy, wrapped: Buffer.concat(sealed).toString('base64') };
  }

  async unwrap(wrapped: WrappedKey, context: KeyContext): Promise<Uint8Array> {
    await this.#called('unwrap');
    const key = this.#keys.get(wrapped.wrappedBy);
    if (wrapped.provider !== this.name || key === undefined)
      throw keyWrong(wrapped, context, 'is not for this provider');
    const bytes = Buffer.from(wrapped.wrapped, 'base64');
    try {
      if (this.wrong.has(wrapped.wrapped)) throw new Error('named as wrong');
      const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(-TAG_BYTES)];
      const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(aboutOf(context)).setAuthTag(tag);
      return new Uint8Array([...decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), ...decipher.final()]);
    } catch {
      throw keyWrong(wrapped, context, 'was changed, or belongs to something else');
    }
  }

  async close(): Promise<void> {}

  #current(): string {
    return `memory v${this.version}`;
  }

  async #called(operation: string): Promise<void> {
    this.calls.push(operation);
    await this.onCall?.(operation);
  }
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const aboutOf = ({ tenant, workflow }: KeyContext): Buffer => Buffer.from(JSON.stringify([tenant, workflow]));
