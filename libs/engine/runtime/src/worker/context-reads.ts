/**
 * Owns a holder's reads of its workflow's context from rows. Rows that are being rebuilt, or that a database lost in a crash, lack some of
 * it: the reads wait for them.
 */

import type { ForkOrigin } from '@tidemark/codec';
import { InvalidError, type Sequence } from '@tidemark/core';
import { subjectsOf } from '@tidemark/memory';
import type { MemoryRow, ProjectionStore } from '@tidemark/ports';
import type { Definition, MemoryEntry, MemoryQuery, RecalledMemories, RecallOptions } from '../definition/index.ts';
import { lineageReads } from '../history/index.ts';
import { type Ports, whileUnavailable } from '../kernel/index.ts';
import type { LeasedStream } from '../lease/index.ts';
import type { RunnerOptions } from '../run/index.ts';

/** Default number of entries that a read of long-term memory returns. */
const MEMORIES_READ_DEFAULT_COUNT = 100;
/** Entries that a step's recall returns by default, and at most; and the most subjects that it may name. */
const RECALLED_DEFAULT_COUNT = 3;
const RECALLED_MAX_COUNT = 50;
const RECALLED_SUBJECTS_MAX_COUNT = 16;

export type HolderReads = Pick<
  ProjectionStore,
  'fragments' | 'texts' | 'trace' | 'scopes' | 'session' | 'memories' | 'spent' | 'lamportOf'
>;

interface Dependencies {
  readonly ports: Pick<Ports, 'store' | 'clock' | 'memory'>;
  readonly stream: LeasedStream;
  readonly signal: AbortSignal;
}

/** `fork`: the origin of a workflow that is a fork. */
export function contextReads({ ports, stream, signal }: Dependencies, fork?: ForkOrigin): HolderReads {
  const { store, clock } = ports;
  // Rows once had everything that the claim is based on, and everything that a fork shares.
  const { workflow, head, position } = stream.confirmed;
  const needed = [{ workflow, upTo: head.sequence, position }, ...(fork?.shares ?? [])];
  const whole = <T>(read: () => Promise<T>): Promise<T> =>
    whileUnavailable(clock, signal, async () => {
      for (const of of needed) {
        await store.checkpoints(of.workflow, { from: of.upTo as Sequence, limit: 1, since: of.position });
      }
      return read();
    });
  const reads: Pick<HolderReads, 'fragments' | 'texts' | 'trace' | 'scopes'> = {
    fragments: (of, upTo) => whole(() => store.fragments(of, upTo)),
    texts: (of, digests) => whole(() => store.texts(of, digests)),
    trace: (of, upTo, count) => whole(() => store.trace(of, upTo, count)),
    scopes: (of, upTo) => whole(() => store.scopes(of, upTo)),
  };
  return {
    ...(fork === undefined ? reads : lineageReads(reads, workflow, fork)),
    session: (...of) => whole(() => store.session(...of)),
    memories: (query) => whole(() => store.memories(query)),
    lamportOf: (...of) => whole(() => store.lamportOf(...of)),
    spent: (...of) => whole(() => store.spent(...of)),
  };
}

/** Reads of long-term memory by steps. They wait until rows have what the workflow wrote itself. */
export const memoryReads = (
  dependencies: Dependencies,
  definition: Pick<Definition, 'context'>,
  applied: () => Promise<void>,
): Pick<RunnerOptions, 'readMemories' | 'recall'> => ({
  async readMemories(query) {
    await applied();
    return readMemories(dependencies, query);
  },
  async recall(question, options, signal) {
    await applied();
    return recallMemories({ ...dependencies, signal }, definition, question, options);
  },
});

async function readMemories(
  { ports, stream, signal }: Dependencies,
  { subject, kind, key, prefix, limit = MEMORIES_READ_DEFAULT_COUNT }: MemoryQuery,
): Promise<readonly MemoryEntry[]> {
  const { tenant } = stream.confirmed;
  const query = {
    tenant,
    subject,
    kind,
    limit,
    ...(key !== undefined && { key }),
    ...(prefix !== undefined && { prefix }),
  };
  const rows = await whileUnavailable(ports.clock, signal, () => ports.store.memories(query));
  return rows.map(entryOf);
}

const entryOf = (row: MemoryRow): MemoryEntry => ({
  key: row.key,
  value: JSON.parse(row.value),
  source: row.source,
  atMs: row.atMs,
});

/** The memories that fit a step's question. Throws `InvalidError` (`recall-invalid`, which names the field; `recall-unavailable`). */
async function recallMemories(
  { ports, stream, signal }: Dependencies,
  { context }: Pick<Definition, 'context'>,
  question: string,
  { about, kinds = ['fact', 'summary'], limit = RECALLED_DEFAULT_COUNT }: RecallOptions,
): Promise<RecalledMemories> {
  const { memory } = ports;
  if (memory === undefined) {
    throw new InvalidError('recall-unavailable', 'ctx.recall: this process runs workflows without long-term memory.');
  }
  const refuse = (field: string, remedy: string): never => {
    throw new InvalidError('recall-invalid', `ctx.recall, ${field}: ${remedy}.`, { field });
  };
  if (typeof question !== 'string' || question.trim() === '')
    refuse('question', 'give a text that says what to recall');
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > RECALLED_MAX_COUNT) {
    refuse('limit', `give a whole number from 1 to ${RECALLED_MAX_COUNT}`);
  }
  const { tenant } = stream.confirmed;
  const subjects = about ?? subjectsOf(stream.confirmed, context?.domains ?? []);
  if (subjects.length > RECALLED_SUBJECTS_MAX_COUNT) refuse('about', `name at most ${RECALLED_SUBJECTS_MAX_COUNT}`);
  const request = { tenant, subjects, kinds, limit, query: question, signal };
  const { entries, by, warning } = await whileUnavailable(ports.clock, signal, () => memory.recall(request));
  return {
    entries: entries.map(({ memory: row, score }) => ({
      ...{ about: row.subject, kind: row.kind, text: row.words, score },
      ...entryOf(row),
    })),
    by,
    warning: warning?.message ?? null,
  };
}
