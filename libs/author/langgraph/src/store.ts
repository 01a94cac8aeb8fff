/**
 * Owns the framework's store over long-term memory. A namespace is a subject whose entries are records, and another subject has the names of
 * all namespaces. It keeps nothing but the names that it has seen, and ranks nothing: memory does.
 *
 * S1 Of two writes of one key the later one counts, whichever process made it; what was deleted comes back only by a later write.
 */

import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import { toJson } from '@tidemark/codec';
import { DEFAULT_TENANT, InvalidError, type Json, type TenantId } from '@tidemark/core';
import type { MemoryRow } from '@tidemark/ports';
import { type Client, checkedStreamName, refuseUnknownOptions } from '@tidemark/runtime';

/** Characters of the name of a memory, and so of a key, and of a namespace's labels together with the store's name. */
const NAME_MAX_CHARS = 256;
/** Entries of one read; most results of one search, and results that are looked through for those that fit a filter. */
const PAGE_COUNT = 500;
const RESULTS_MAX_COUNT = 10_000;
const FILTERED_COUNT = 1_000;
/** Namespaces that one search by words covers. */
const SEARCHED_MAX_COUNT = 500;
/** Writes of one event. */
const WRITES_MAX_COUNT = 100;
/** Operations of one batch. */
const OPERATIONS_MAX_COUNT = 10_000;

export interface StoreOptions {
  /** Whose the entries are; of an ordinary installation when absent. */
  readonly tenant?: string | undefined;
  /** By which its subjects begin: 1 to 40 of a to z, 0 to 9 and '-'. Default: langgraph. */
  readonly name?: string | undefined;
  /** What of a value is searched: paths such as `title`, `chapters[*].text`. Default: all of it. */
  readonly fields?: readonly string[] | undefined;
}

/** What the store needs of a host, as `openEmbedded` and `openCluster` give one. */
export interface StoreHost {
  readonly client: { readonly memory: Pick<Client['memory'], 'remember' | 'memories' | 'recall'> };
}

/** What a memory has of an item. */
interface Kept {
  readonly value: Readonly<Record<string, Json>>;
  readonly createdAtMs: number;
}

interface CheckedPut {
  readonly namespace: readonly string[];
  readonly subject: string;
  readonly key: string;
  /** Null: it is deleted. */
  readonly value: Kept['value'] | null;
  /** What is searched. */
  readonly words: string;
}

export class TidemarkStore extends BaseStore {
  readonly #memory: StoreHost['client']['memory'];
  readonly #tenant: TenantId;
  readonly #name: string;
  readonly #fields: readonly string[];
  /** Namespaces that have their entry. */
  readonly #known = new Set<string>();

  /** Throws `InvalidError` (`option-unknown`, `config-invalid`, `name-invalid`). */
  constructor(host: StoreHost, options: StoreOptions = {}) {
    refuseUnknownOptions('TidemarkStore', options, { tenant: true, name: true, fields: true });
    const { tenant = DEFAULT_TENANT, name = 'langgraph', fields = ['$'] } = options;
    super();
    if (!/^[a-z0-9-]{1,40}$/.test(name)) throw unfit('name', "give 1 to 40 of a to z, 0 to 9 and '-'");
    this.#memory = host.client.memory;
    this.#tenant = checkedStreamName('tenant', tenant) as TenantId;
    this.#name = name;
    this.#fields = fields;
  }

  /** Reads first, then writes. Throws `InvalidError` (`store-invalid`: nothing was written; `memory-secret`), which names the field. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    if (operations.length > OPERATIONS_MAX_COUNT) throw unfit('operations', `give at most ${OPERATIONS_MAX_COUNT}`);
    const puts = operations.flatMap((operation, at) => ('value' in operation ? [this.#checked(operation, at)] : []));
    const results = await Promise.all(
      operations.map((operation, at) => {
        if ('value' in operation) return undefined;
        if ('namespacePrefix' in operation) return this.#search(operation, `operations[${at}]`);
        if ('key' in operation) return this.#get(operation, `operations[${at}]`);
        return this.#list(operation, `operations[${at}]`);
      }),
    );
    await this.#put(puts);
    return results as OperationResults<Op>;
  }

  #subject(namespace: readonly string[], where: string): string {
    const subject = `${this.#name}:${namespace.join('.')}`;
    if (subject.length <= NAME_MAX_CHARS) return subject;
    throw unfit(
      where,
      `its labels have ${subject.length} characters with the store's name, at most ${NAME_MAX_CHARS} are kept`,
    );
  }

  #checked({ namespace, key, value, index }: PutOperation, at: number): CheckedPut {
    const where = `operations[${at}]`;
    const subject = this.#subject(checkedLabels(namespace, `${where}.namespace`, 1), `${where}.namespace`);
    const kept = value === null ? null : checkedValue(value, `${where}.value`);
    const paths: unknown = index === false ? [] : (index ?? this.#fields);
    if (!Array.isArray(paths) || !paths.every((path) => typeof path === 'string'))
      throw unfit(`${where}.index`, 'give false, or an array of paths');
    const words = kept === null ? '' : paths.flatMap((path) => textsAt(kept, path)).join('\n');
    return { namespace, subject, key: checkedKey(key, `${where}.key`), value: kept, words };
  }

  async #get({ namespace, key }: GetOperation, where: string): Promise<Item | null> {
    const subject = this.#subject(checkedLabels(namespace, `${where}.namespace`, 1), `${where}.namespace`);
    const row = await this.#row(subject, checkedKey(key, `${where}.key`));
    return row === undefined ? null : itemOf(row, namespace);
  }

  async #row(subject: string, key: string): Promise<MemoryRow | undefined> {
    return (await this.#memory.memories(this.#tenant, { subject, kind: 'record', key, limit: 1 }))[0];
  }

  async #put(puts: readonly CheckedPut[]): Promise<void> {
    // The last one of a key counts.
    const last = new Map(puts.map((put) => [JSON.stringify([put.subject, put.key]), put]));
    const bySubject = Map.groupBy(last.values(), ({ subject }) => subject);
    await Promise.all(
      Array.from(bySubject, async ([subject, own]) => {
        await this.#note(own[0]!.namespace);
        for (let at = 0; at < own.length; at += WRITES_MAX_COUNT) {
          const updates = own.slice(at, at + WRITES_MAX_COUNT).map(async ({ key, value, words }) => {
            const named = { subject, kind: 'record' as const, key, source: this.#name };
            if (value === null) return named;
            const before = await this.#row(subject, key);
            const createdAtMs = before === undefined ? Date.now() : keptIn(before).createdAtMs;
            return { ...named, words, value: { value, createdAtMs } };
          });
          await this.#memory.remember(await Promise.all(updates), { tenant: this.#tenant });
        }
      }),
    );
  }

  /** Has the namespace among those that are listed. */
  async #note(namespace: readonly string[]): Promise<void> {
    const key = namespace.join('.');
    if (this.#known.has(key)) return;
    if ((await this.#row(this.#name, key)) === undefined) {
      const entry = { subject: this.#name, kind: 'record' as const, key, value: null, source: this.#name };
      await this.#memory.remember([entry], { tenant: this.#tenant });
    }
    this.#known.add(key);
  }

  /** Of a subject, by key. */
  async *#rows(subject: string, prefix?: string): AsyncGenerator<MemoryRow> {
    for (let after: MemoryRow | undefined; ; ) {
      const page: readonly MemoryRow[] = await this.#memory.memories(this.#tenant, {
        ...{ subject, kind: 'record', limit: PAGE_COUNT },
        ...(prefix !== undefined && { prefix }),
        ...(after !== undefined && { after }),
      });
      yield* page;
      after = page.at(-1);
      if (page.length < PAGE_COUNT) return;
    }
  }

  /** Namespaces that begin with these labels, in their order. */
  async #namespaces(prefix: readonly string[]): Promise<readonly string[][]> {
    const found: string[][] = [];
    const begins = prefix.join('.');
    for await (const { key } of this.#rows(this.#name, begins)) {
      const labels = key.split('.');
      if (prefix.every((label, at) => labels[at] === label)) found.push(labels);
    }
    return found;
  }

  async #search(operation: SearchOperation, where: string): Promise<SearchItem[]> {
    const { namespacePrefix, filter = {}, query } = operation;
    const { limit, offset } = checkedPage(operation, where, 10);
    checkedLabels(namespacePrefix, `${where}.namespacePrefix`, 0);
    const fits = filterOf(filter, `${where}.filter`);
    const namespaces = await this.#namespaces(namespacePrefix);
    const found: SearchItem[] = [];
    if (query !== undefined && query !== '') {
      if (namespaces.length > SEARCHED_MAX_COUNT) {
        const remedy = `${namespaces.length} namespaces begin so, and a query searches ${SEARCHED_MAX_COUNT} at most; give more labels`;
        throw unfit(`${where}.namespacePrefix`, remedy);
      }
      const subjects = namespaces.map((labels) => this.#subject(labels, where));
      const upTo = Object.keys(filter).length > 0 ? FILTERED_COUNT : offset + limit;
      const asked = { subjects, kinds: ['record' as const], query, limit: upTo };
      const { entries } = await this.#memory.recall(this.#tenant, asked);
      for (const { memory, score } of entries) {
        const item = itemOf(memory, memory.subject.slice(this.#name.length + 1).split('.'));
        // The nearest ones come however far they are.
        if (score > 0 && fits(item.value)) found.push({ ...item, score });
      }
      return found.slice(offset, offset + limit);
    }
    for (const labels of namespaces) {
      for await (const row of this.#rows(this.#subject(labels, where))) {
        const item = itemOf(row, labels);
        if (fits(item.value)) found.push(item);
        if (found.length >= offset + limit) return found.slice(offset);
      }
    }
    return found.slice(offset);
  }

  /** Namespaces that have an item. */
  async #list(operation: ListNamespacesOperation, where: string): Promise<string[][]> {
    const { matchConditions = [], maxDepth } = operation;
    const { limit, offset } = checkedPage(operation, where, 100);
    const prefix = matchConditions.find(({ matchType }) => matchType === 'prefix')?.path ?? [];
    const wild = prefix.indexOf('*');
    const found = new Map<string, string[]>();
    for (const labels of await this.#namespaces(wild < 0 ? prefix : prefix.slice(0, wild))) {
      const own = labels.slice(0, maxDepth);
      if (found.has(own.join('.')) || !matchConditions.every((condition) => isMatch(labels, condition))) continue;
      const [first] = await this.#memory.memories(this.#tenant, {
        ...{ subject: this.#subject(labels, where), kind: 'record', limit: 1 },
      });
      if (first !== undefined) found.set(own.join('.'), own);
      if (found.size >= offset + limit) break;
    }
    return [...found.values()].slice(offset);
  }
}

const keptIn = ({ value }: MemoryRow): Kept => JSON.parse(value) as Kept;

function itemOf(row: MemoryRow, namespace: readonly string[]): Item {
  const { value, createdAtMs } = keptIn(row);
  return {
    ...{ namespace: [...namespace], key: row.key, value: { ...value } },
    ...{ createdAt: new Date(createdAtMs), updatedAt: new Date(row.atMs) },
  };
}

const unfit = (field: string, remedy: string): InvalidError =>
  new InvalidError('store-invalid', `${field}: ${remedy}.`, { field });

const isPlain = (text: unknown): text is string =>
  typeof text === 'string' && text !== '' && !/\p{Cc}/u.test(text) && text.isWellFormed();

function checkedLabels(labels: unknown, where: string, minCount: number): readonly string[] {
  if (!Array.isArray(labels) || labels.length < minCount)
    throw unfit(where, `give an array of ${minCount} or more labels`);
  for (const [at, label] of labels.entries()) {
    if (!isPlain(label) || /[.:]/.test(label))
      throw unfit(`${where}[${at}]`, "give a text without '.', ':' and control characters, and not an empty one");
  }
  return labels as string[];
}

function checkedKey(key: unknown, where: string): string {
  if (isPlain(key) && key.length <= NAME_MAX_CHARS) return key;
  throw unfit(
    where,
    `give 1 to ${NAME_MAX_CHARS} characters without control characters; keep a longer name in the value, and its digest here`,
  );
}

function checkedValue(value: unknown, where: string): Kept['value'] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unfit(where, 'give an object, or null to delete');
  return toJson(value, where) as Kept['value'];
}

/** What is searched of a value: `$` is all of it, `title`, `chapters[*].text`, `authors[0]`, `notes[-1]`. */
function textsAt(value: Kept['value'], path: string): readonly string[] {
  if (path === '$') return [JSON.stringify(value)];
  let found: readonly unknown[] = [value];
  for (const part of path.split(/\.|(?=\[)/)) {
    const at = /^\[(.*)\]$/.exec(part)?.[1];
    found = found.flatMap((each): readonly unknown[] => {
      if (Array.isArray(each)) return at === '*' ? each : [each.at(Number(at))];
      const isMember = typeof each === 'object' && each !== null && Object.hasOwn(each, part);
      return isMember ? [(each as Kept['value'])[part]] : [];
    });
  }
  return found.flatMap((each) => (typeof each === 'string' ? [each] : each == null ? [] : [JSON.stringify(each)]));
}

function checkedPage(of: { readonly limit?: number; readonly offset?: number }, where: string, usual: number) {
  const { limit = usual, offset = 0 } = of;
  for (const [field, count] of Object.entries({ limit, offset })) {
    if (Number.isSafeInteger(count) && count >= 0 && count <= RESULTS_MAX_COUNT) continue;
    throw unfit(`${where}.${field}`, `give a whole number from 0 to ${RESULTS_MAX_COUNT}`);
  }
  return { limit, offset };
}

const COMPARES: Readonly<Record<string, (value: unknown, wanted: unknown) => boolean>> = {
  $eq: (value, wanted) => isSame(value, wanted),
  $ne: (value, wanted) => !isSame(value, wanted),
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.some((each) => isSame(value, each)),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.some((each) => isSame(value, each)),
};

const isSame = (value: unknown, wanted: unknown): boolean => JSON.stringify(value) === JSON.stringify(wanted);

function filterOf(filter: Readonly<Record<string, unknown>>, where: string): (value: Item['value']) => boolean {
  const tests = Object.entries(filter).flatMap(([key, wanted]) => {
    const operators = typeof wanted === 'object' && wanted !== null ? Object.entries(wanted) : [];
    if (!operators.some(([operator]) => operator.startsWith('$'))) return [{ key, compare: COMPARES.$eq!, wanted }];
    return operators.map(([operator, operand]) => {
      const compare = Object.hasOwn(COMPARES, operator) ? COMPARES[operator] : undefined;
      if (compare === undefined)
        throw unfit(`${where}.${key}`, `use ${Object.keys(COMPARES).join(', ')}, not ${operator}`);
      return { key, compare, wanted: operand };
    });
  });
  return (value) =>
    tests.every(({ key, compare, wanted }) => compare(Object.hasOwn(value, key) ? value[key] : undefined, wanted));
}

function isMatch(labels: readonly string[], { matchType, path }: MatchCondition): boolean {
  const from = matchType === 'suffix' ? labels.length - path.length : 0;
  return from >= 0 && path.every((label, at) => label === '*' || labels[from + at] === label);
}
