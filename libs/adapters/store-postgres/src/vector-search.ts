/**
 * Owns the exact search among a subject's vectors, which have the length 1. It caches vectors in this process, up to a number of bytes,
 * and reads them again when the subject's fingerprint has changed. Each search reads the fingerprint first, so it finds what the tables
 * hold at that moment. Vectors are found by tenant and subject alone (I9).
 */

import type { RecallQuery } from '@tidemark/ports';
import { readFingerprint, readVectors } from './sql/embeddings.ts';
import { numberAt, type Row, type SqlRunner, textAt } from './sql-client.ts';

/** Bytes of embeddings of all subjects that this process caches. 10,000 with 384 dimensions are 15 MB. */
const VECTOR_CACHE_MAX_BYTES = 64 * 1024 * 1024;
/** Embeddings read in one round trip. */
const VECTOR_PAGE_ROWS = 2_000;

interface Kept {
  readonly fingerprint: string;
  readonly rows: readonly VectorRow[];
  readonly bytes: number;
}

interface VectorRow {
  readonly id: number;
  readonly mark: number;
  readonly kind: string;
  readonly vector: Float32Array;
}

export interface Near {
  readonly id: number;
  readonly mark: number;
  readonly similarity: number;
}

export class VectorSearch {
  readonly #maxBytes: number;
  /** In order of use, the longest unused first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(maxBytes = VECTOR_CACHE_MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the nearest, best first. */
  async nearest(
    runner: SqlRunner,
    query: RecallQuery,
    model: string,
    vector: Float32Array,
    limit: number,
  ): Promise<readonly Near[]> {
    const kinds = new Set<string>(query.kinds);
    const best: Near[] = [];
    for (const row of await this.#rowsOf(runner, query, model)) {
      if (row.vector.length !== vector.length || !kinds.has(row.kind)) continue;
      const similarity = product(row.vector, vector);
      if (best.length === limit && similarity <= best[limit - 1]!.similarity) continue;
      insert(best, { id: row.id, mark: row.mark, similarity }, limit);
    }
    return best;
  }

  async #rowsOf(runner: SqlRunner, query: RecallQuery, model: string): Promise<readonly VectorRow[]> {
    const key = JSON.stringify([query.tenant, query.subject, model]);
    const [[found = []] = []] = await runner.run([readFingerprint(query, model)]);
    const fingerprint = found.join();
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      if (kept.fingerprint === fingerprint) {
        this.#kept.set(key, kept);
        return kept.rows;
      }
      this.#bytes -= kept.bytes;
    }
    const rows = await readAll(runner, query, model);
    this.#keep(key, { fingerprint, rows, bytes: rows.reduce((sum, row) => sum + row.vector.byteLength, 0) });
    return rows;
  }

  #keep(key: string, kept: Kept): void {
    // Two searches may have read the same subject.
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#kept.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}

async function readAll(runner: SqlRunner, query: RecallQuery, model: string): Promise<readonly VectorRow[]> {
  const all: VectorRow[] = [];
  for (;;) {
    const after = all.at(-1)?.id ?? 0;
    const [rows = []] = await runner.run([readVectors(query, model, after, VECTOR_PAGE_ROWS)]);
    for (const row of rows) all.push(vectorOf(row));
    if (rows.length < VECTOR_PAGE_ROWS) return all;
  }
}

function vectorOf(row: Row): VectorRow {
  const bytes = Buffer.from(textAt(row, 4), 'base64');
  // Copied to an offset at which a float may begin.
  const vector = new Float32Array(new Uint8Array(bytes).buffer, 0, numberAt(row, 3));
  return { id: numberAt(row, 0), mark: numberAt(row, 1), kind: textAt(row, 2), vector };
}

/** Inserts a match in order and drops the worst. Of equal ones the earlier stays first, which is the one with the lower id. */
function insert(best: Near[], row: Near, limit: number): void {
  let at = best.length;
  while (at > 0 && best[at - 1]!.similarity < row.similarity) at -= 1;
  best.splice(at, 0, row);
  if (best.length > limit) best.pop();
}

/** Four sums at a time, which the processor computes in parallel. */
function product(a: Float32Array, b: Float32Array): number {
  const even = a.length - (a.length % 4);
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  for (let at = 0; at < even; at += 4) {
    first += a[at]! * b[at]!;
    second += a[at + 1]! * b[at + 1]!;
    third += a[at + 2]! * b[at + 2]!;
    fourth += a[at + 3]! * b[at + 3]!;
  }
  for (let at = even; at < a.length; at += 1) first += a[at]! * b[at]!;
  return first + second + third + fourth;
}
