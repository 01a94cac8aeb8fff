/**
 * Owns memory in memory for the runtime's own tests: it keeps M1 to M3 as the contract has them. Words lose common endings, count by
 * their rarity, and twice in the first line. Must not be used outside tests.
 */

import { InvalidError, type Lamport, type TenantId } from '@tidemark/core';
import {
  compareWrites,
  fuseRankings,
  type MemoryEmbedding,
  type MemoryName,
  type MemoryQuery,
  type MemoryRow,
  type MemoryStore,
  type Ranked,
  type RecalledMemory,
  type RecallQuery,
  type UnembeddedMemory,
  type UnscrubbedTable,
  type WrittenQuery,
} from '@tidemark/ports';

interface Entry {
  readonly id: number;
  readonly mark: number;
  readonly row: MemoryRow;
}

export class SimulatedMemories implements MemoryStore {
  readonly #entries = new Map<string, Entry>();
  readonly #embeddings = new Map<string, MemoryEmbedding>();
  #marks = 0;

  clear(): void {
    this.#entries.clear();
    this.#embeddings.clear();
  }

  values(): readonly string[] {
    return [...this.#entries.values()].map(({ row }) => row.value);
  }

  put(rows: readonly MemoryRow[]): void {
    for (const row of rows) {
      const key = JSON.stringify([row.tenant, row.subject, row.kind, row.key]);
      const known = this.#entries.get(key);
      if (known !== undefined && compareWrites(row, known.row) <= 0) continue;
      const written = row.isForgotten ? { ...row, value: 'null', words: '' } : row;
      const mark = known?.row.words === written.words ? known.mark : ++this.#marks;
      this.#entries.set(key, { id: known?.id ?? mark, mark, row: written });
    }
  }

  async memories(query: MemoryQuery): Promise<readonly MemoryRow[]> {
    const { kind, key, prefix = '', after } = query;
    const rows = this.#of(query)
      .map(({ row }) => row)
      .filter((row) => (kind === undefined || row.kind === kind) && (key === undefined || row.key === key))
      .filter((row) => row.key.startsWith(prefix));
    if (query.order === 'newest') return rows.sort((a, b) => compareWrites(b, a)).slice(0, query.limit);
    const past = rows.filter((row) => after === undefined || byKey(row, after) > 0);
    return past.sort(byKey).slice(0, query.limit);
  }

  async memoriesWrittenBy({ tenant, workflows, after, limit }: WrittenQuery): Promise<readonly MemoryName[]> {
    const names = [...this.#entries.values()]
      .filter(({ row }) => row.tenant === tenant && !row.isForgotten && workflows.includes(row.workflow))
      .map(({ row: { subject, kind, key } }) => ({ subject, kind, key }));
    return names
      .sort(byName)
      .filter((name) => after === undefined || byName(name, after) > 0)
      .slice(0, limit);
  }

  /** Nothing is stored anywhere. */
  async scrub(): Promise<readonly UnscrubbedTable[]> {
    return [];
  }

  async lamportOf(tenant: TenantId, subject: string): Promise<Lamport> {
    const of = [...this.#entries.values()]
      .map(({ row }) => row)
      .filter((row) => row.tenant === tenant && row.subject === subject);
    return Math.max(0, ...of.map((row) => row.lamport)) as Lamport;
  }

  async recall(query: RecallQuery): Promise<readonly RecalledMemory[]> {
    const entries = this.#of(query).filter(({ row }) => query.kinds.includes(row.kind));
    const words = rankedByWords(entries, query.words);
    const { embedding, model } = query;
    const meaning =
      embedding === null || model === null
        ? null
        : ranked(entries, (entry) => {
            const known = this.#embeddings.get(`${entry.id} ${model}`);
            if (known?.mark !== entry.mark || known.vector.length !== embedding.length) return 0;
            return cosine(known.vector, embedding);
          });
    const best = fuseRankings(
      words,
      meaning,
      ({ id }) => id,
      (a, b) => b.row.lamport - a.row.lamport || byKey(a.row, b.row),
    );
    return best.slice(0, query.limit).map(({ item, ...rest }) => ({ memory: item.row, ...rest }));
  }

  async unembedded(model: string, limit: number, after = 0): Promise<readonly UnembeddedMemory[]> {
    return [...this.#entries.values()]
      .filter(({ row, mark }) => row.words !== '' && mark > after)
      .filter(({ id, mark }) => this.#embeddings.get(`${id} ${model}`)?.mark !== mark)
      .sort((a, b) => a.mark - b.mark)
      .slice(0, limit)
      .map(({ id, mark, row }) => ({ id, mark, words: row.words }));
  }

  async putEmbeddings(rows: readonly MemoryEmbedding[]): Promise<void> {
    for (const { vector } of rows) {
      if (vector.length === 0 || !vector.every(Number.isFinite))
        throw new InvalidError('embedding-invalid', 'An embedding has finite numbers, at least one.');
    }
    const marks = new Map([...this.#entries.values()].map(({ id, mark }) => [id, mark]));
    for (const row of rows) if (marks.get(row.id) === row.mark) this.#embeddings.set(`${row.id} ${row.model}`, row);
  }

  #of({ tenant, subject }: Pick<MemoryQuery, 'tenant' | 'subject'>): Entry[] {
    const own = ({ row }: Entry): boolean => row.tenant === tenant && row.subject === subject && !row.isForgotten;
    return [...this.#entries.values()].filter(own);
  }
}

function byKey(a: Pick<MemoryRow, 'kind' | 'key'>, b: Pick<MemoryRow, 'kind' | 'key'>): number {
  if (a.kind !== b.kind) return a.kind < b.kind ? -1 : 1;
  return a.key === b.key ? 0 : a.key < b.key ? -1 : 1;
}

function byName(a: MemoryName, b: MemoryName): number {
  if (a.subject !== b.subject) return a.subject < b.subject ? -1 : 1;
  return byKey(a, b);
}

const wordsIn = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.replace(/(?<=..)(?:ions?|ing|ed|s)$/, ''));

/** The share of the query's words that each entry has, weighed by their rarity; those of the first line count twice. */
function rankedByWords(entries: readonly Entry[], query: string): readonly Ranked<Entry>[] {
  const wanted = [...new Set(wordsIn(query))];
  const texts = new Map(
    entries.map((entry) => {
      const [first = '', ...body] = entry.row.words.split('\n');
      return [entry, { first: wordsIn(first), body: wordsIn(body.join('\n')) }];
    }),
  );
  const weights = wanted.map((word) => {
    const found = [...texts.values()].filter(({ first, body }) => first.includes(word) || body.includes(word)).length;
    return { word, weight: Math.log(1 + (entries.length - found + 0.5) / (found + 0.5)) };
  });
  const sum = weights.reduce((total, { weight }) => total + weight, 0);
  return ranked(entries, (entry) => {
    const { first, body } = texts.get(entry)!;
    const scores = weights.map(
      ({ word, weight }) => weight * (first.includes(word) ? 1 : body.includes(word) ? 0.5 : 0),
    );
    return scores.reduce((total, score) => total + score, 0) / sum;
  });
}

function ranked(entries: readonly Entry[], scoreOf: (entry: Entry) => number): Ranked<Entry>[] {
  const scored = entries.map((item) => ({ item, score: scoreOf(item) })).filter(({ score }) => score > 0);
  return scored.sort((a, b) => b.score - a.score);
}

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0;
  let left = 0;
  let right = 0;
  for (let at = 0; at < a.length; at += 1) {
    product += a[at]! * b[at]!;
    left += a[at]! ** 2;
    right += b[at]! ** 2;
  }
  return left === 0 || right === 0 ? 0 : product / Math.sqrt(left * right);
}
