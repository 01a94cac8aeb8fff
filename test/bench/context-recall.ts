/**
 * Owns measuring recall: how well it finds, on the labelled set with a real sentence model, and how fast, over 10,000 summaries.
 *
 * - `precision_at_3`: for each query the share of its relevant sessions among the first three answers, of as many as could be there
 *   (at most three); the mean over all queries. 1 is possible, whatever the number of relevant ones. `full_text`: words alone;
 *   `combined`: words and meaning, what `recall` does with an embedder.
 * - `context_precision` (session recall precision): the share of queries whose needed fact stands in the continuation context that a new
 *   session would get: of the three recalled summaries, or, without recall, of the user's three newest.
 * - Times are of the store's answer to a query whose embedding is at hand; `query_embedding` is what making it costs beside. The
 *   10,000 summaries are put together from parts of the labelled ones, their vectors are mixed likewise and disturbed: fit for times,
 *   not for precision. `one_user`: all of them are of the user who asks; `forty_users`: 250 each.
 *
 * Not measured: the first query after the start of the process, concurrent queries, other models.
 */

import { createHash } from 'node:crypto';
import type { Lamport, Offset, Partition, Position, TenantId, WorkflowId } from '@tidemark/core';
import {
  buildContinuationContext,
  type Embedder,
  localEmbedder,
  memoryIndexer,
  recall,
  type SessionSummary,
  sessionSummarySchema,
  summaryWords,
  userSubject,
} from '@tidemark/memory';
import type { MemoryRow, RowStore } from '@tidemark/ports';
import { openPgliteStore, openPostgresStore } from '@tidemark/store-postgres';
import { sentenceModel } from '@tidemark/testkit/servers';
import { type LabelledQuery, type LabelledSet, readLabelledSet } from './recall/labelled-set.ts';
import { median, type Report } from './report.ts';

const TENANT = 'bench' as TenantId;
const SUMMARY_COUNT = 10_000;
const USER_COUNT = 40;
const LIMIT = 3;
/** Queries that only warm up, and those whose times count. */
const WARM_UP_COUNT = 60;
const TIMED_COUNT = 600;
const ROWS_PER_BATCH = 500;

export interface RecallBenchOptions {
  /** Measures this Postgres instead of PGlite in memory. The database must be new. */
  readonly postgresUrl?: string;
}

/** Adds `context.recall.*` to the report. */
export async function measureRecall(report: Report, options: RecallBenchOptions = {}): Promise<void> {
  const embedder = localEmbedder(await sentenceModel());
  const store =
    options.postgresUrl === undefined
      ? openPgliteStore({ memory: true })
      : openPostgresStore({ url: options.postgresUrl });
  try {
    await store.ensure();
    const partition = 0 as Partition;
    await store.addPartitions([{ partition, start: 0 as Offset, rebuildTo: 0 as Offset }]);
    const writer = rowWriter(store, partition);
    const set = readLabelledSet();
    await writer(set.summaries.map(({ user, summary }, at) => rowOf(user, summary, at)));
    await memoryIndexer({ store, embedder }).run();
    await measurePrecision(report, store, embedder, set);
    await measureTimes(report, store, embedder, set, writer);
  } finally {
    await store.close();
    await embedder.close();
  }
}

async function measurePrecision(
  report: Report,
  store: RowStore,
  embedder: Embedder,
  { summaries, queries }: LabelledSet,
): Promise<void> {
  const found = { full_text: 0, combined: 0 };
  const inContext = { full_text: 0, combined: 0, newest_3: 0 };
  for (const query of queries) {
    for (const [name, by] of [['full_text', null] as const, ['combined', embedder] as const]) {
      const { entries } = await recall({
        ...{
          query: query.query,
          subjects: [userSubject(query.user)],
          store,
          embedder: by,
          tenant: TENANT,
          limit: LIMIT,
        },
      });
      found[name] += shareFound(
        query,
        entries.map(({ memory }) => memory.key),
      );
      const recalled = entries.map(({ memory }) => sessionSummarySchema.parse(JSON.parse(memory.value)));
      inContext[name] += holdsFact(query, recalled);
    }
    const own = summaries.filter(({ user }) => user === query.user).map(({ summary }) => summary);
    const newest = own.toSorted((a, b) => (a.created_at > b.created_at ? -1 : 1)).slice(0, LIMIT);
    inContext.newest_3 += holdsFact(query, newest);
  }
  const share = (count: number): number => count / queries.length;
  report.note(`recall: ${summaries.length} summaries of 4 users, ${queries.length} queries, ${embedder.model}`);
  report.add('context.recall.precision_at_3', share(found.combined), 'share');
  report.add('context.recall.precision_at_3_full_text', share(found.full_text), 'share');
  report.add('context.recall.context_precision', share(inContext.combined), 'share');
  report.add('context.recall.context_precision_full_text', share(inContext.full_text), 'share');
  report.add('context.recall.context_precision_without_recall', share(inContext.newest_3), 'share');
}

function shareFound({ relevant }: LabelledQuery, keys: readonly string[]): number {
  return relevant.filter((id) => keys.includes(id)).length / Math.min(LIMIT, relevant.length);
}

const holdsFact = ({ fact }: LabelledQuery, summaries: readonly SessionSummary[]): number =>
  buildContinuationContext(summaries).includes(fact) ? 1 : 0;

async function measureTimes(
  report: Report,
  store: RowStore,
  embedder: Embedder,
  { summaries, queries }: LabelledSet,
  write: (rows: readonly MemoryRow[]) => Promise<void>,
): Promise<void> {
  const sources = summaries.map(({ summary }) => summary);
  const sourceVectors = await embedder.embed(sources.map(summaryWords));
  const chance = sequence(1);
  for (const userCount of [1, USER_COUNT]) {
    const mixed = Array.from({ length: SUMMARY_COUNT }, (_, at) => mix(sources, at, chance));
    const userOf = (at: number): string => `${userCount}-${at % userCount}`;
    await write(mixed.map(({ summary }, at) => rowOf(userOf(at), summary, at)));
    await embedMixed(store, embedder.model, (words) => vectorOf(words, mixed, sourceVectors, chance));
  }
  const vectors: Float32Array[] = [];
  const embedMs: number[] = [];
  for (const { query } of queries) {
    const start = performance.now();
    vectors.push(...(await embedder.embed([query])));
    embedMs.push(performance.now() - start);
  }
  const timed = async (userCount: number, hasVector: boolean): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let n = 0; n < WARM_UP_COUNT + TIMED_COUNT; n += 1) {
      const at = n % queries.length;
      const start = performance.now();
      await store.recall({
        tenant: TENANT,
        subject: userSubject(`${userCount}-${n % userCount}`),
        kinds: ['summary'],
        words: queries[at]!.query,
        embedding: hasVector ? vectors[at]! : null,
        model: hasVector ? embedder.model : null,
        limit: LIMIT,
      });
      if (n >= WARM_UP_COUNT) times.push(performance.now() - start);
    }
    return times;
  };
  const one = await timed(1, true);
  report.addTail('context.recall.p99_ms', one, 'ms');
  report.add('context.recall.median_ms', median(one), 'ms');
  const words = await timed(1, false);
  report.addTail('context.recall.full_text_p99_ms', words, 'ms');
  report.add('context.recall.full_text_median_ms', median(words), 'ms');
  const many = await timed(USER_COUNT, true);
  report.addTail('context.recall.forty_users_p99_ms', many, 'ms');
  report.add('context.recall.forty_users_median_ms', median(many), 'ms');
  report.addTail('context.recall.query_embedding_p99_ms', embedMs, 'ms');
  report.add('context.recall.query_embedding_median_ms', median(embedMs), 'ms');
}

interface Mixed {
  readonly summary: SessionSummary;
  /** Indexes of the summaries that its task and its lists are from. */
  readonly from: readonly number[];
}

/** A summary of the tasks and lists of several; its id stands in it, so that no two have the same words. */
function mix(sources: readonly SessionSummary[], at: number, chance: () => number): Mixed {
  const from = Array.from({ length: 5 }, () => Math.floor(chance() * sources.length));
  const part = (n: number): SessionSummary => sources[from[n]!]!;
  const summary: SessionSummary = {
    session_id: `mixed-${at}`,
    task_description: `${part(0).task_description} (case ${at})`,
    decisions_made: part(1).decisions_made,
    work_completed: part(2).work_completed,
    open_questions: part(3).open_questions,
    next_recommended_steps: part(4).next_recommended_steps,
    created_at: part(0).created_at,
  };
  return { summary, from };
}

async function embedMixed(store: RowStore, model: string, vector: (words: string) => Float32Array): Promise<void> {
  for (let mark = 0; ; ) {
    const rows = await store.unembedded(model, ROWS_PER_BATCH, mark);
    if (rows.length === 0) return;
    mark = rows.at(-1)!.mark;
    await store.putEmbeddings(rows.map(({ id, mark, words }) => ({ id, mark, model, vector: vector(words) })));
  }
}

function vectorOf(
  words: string,
  mixed: readonly Mixed[],
  sources: readonly Float32Array[],
  chance: () => number,
): Float32Array {
  const at = Number(/\(case (\d+)\)/.exec(words)?.[1]);
  const parts = mixed[at]!.from.map((index) => sources[index]!);
  return parts[0]!.map((_, n) => parts.reduce((sum, part) => sum + part[n]!, (chance() - 0.5) * 0.05));
}

/** Appends rows through the projection, as the projector does. */
function rowWriter(store: RowStore, partition: Partition): (rows: readonly MemoryRow[]) => Promise<void> {
  let next = 0;
  const none = { opened: [], streams: [], closed: [], tasksPut: [], tasksGone: [], checkpoints: [], effects: [] };
  const nothing = { ...none, events: [], timersPut: [], timersGone: [], rejected: [] };
  return async (rows) => {
    for (let first = 0; first < rows.length; first += ROWS_PER_BATCH) {
      const advance = { partition, from: next as Offset, to: (next + 1) as Offset, generation: 0 as never };
      const memories = rows.slice(first, first + ROWS_PER_BATCH);
      await store.apply({ ...nothing, partitions: [advance], memories });
      next += 1;
    }
  };
}

const rowOf = (user: string, summary: SessionSummary, at: number): MemoryRow => ({
  tenant: TENANT,
  subject: userSubject(user),
  kind: 'summary',
  key: summary.session_id,
  value: JSON.stringify(summary),
  words: summaryWords(summary),
  source: 'bench',
  atMs: Date.parse(summary.created_at),
  workflow: 'bench' as WorkflowId,
  position: (at + 1) as Position,
  ordinal: 0,
  lamport: (at + 1) as Lamport,
  isForgotten: false,
});

/** The same numbers in [0, 1) each time. */
function sequence(seed: number): () => number {
  let count = 0;
  let bytes = Buffer.alloc(0);
  return () => {
    if (bytes.length < 4) bytes = createHash('sha512').update(`${seed}:${count++}`).digest();
    const value = bytes.readUInt32BE(0) / 2 ** 32;
    bytes = bytes.subarray(4);
    return value;
  };
}
