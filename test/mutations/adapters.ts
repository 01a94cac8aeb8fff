/** Owns the mutations of the adapters: store, logs, queues, blobs. */

import type { Mutation } from './mutations.ts';

export const ADAPTER_MUTATIONS: Readonly<Record<string, Mutation>> = {
  'partition-moves-from-anywhere': {
    file: 'libs/store-postgres/src/sql/advance-partitions.ts',
    edits: [['  where partitions.next = excluded.rebuild_to\n    and (', '  where partitions.next >= 0\n    and (']],
    caughtBy: 'libs/store-postgres/src/pglite-store.test.ts',
    breaks: 'rows and the offset that they are of move together (P1)',
  },
  'status-stays-behind': {
    file: 'libs/store-postgres/src/sql/put-streams.ts',
    edits: [['  status = excluded.status, reason', '  reason']],
    caughtBy: 'libs/store-postgres/src/pglite-store.test.ts',
    breaks: 'a row has the status of its stream',
  },
  'holder-stays': {
    file: 'libs/store-postgres/src/sql/put-streams.ts',
    edits: [['  holder = excluded.holder, lamport', '  lamport']],
    caughtBy: 'libs/store-postgres/src/pglite-store.test.ts',
    breaks: 'a row names who holds its stream now',
  },
  'ranges-have-two-owners': {
    file: 'libs/store-postgres/src/sql/share-ranges.ts',
    edits: [['where role = $2 and owner is null\n  order by range limit', 'where role = $2\n  order by range limit']],
    caughtBy: 'libs/store-postgres/src/pglite-store.test.ts',
    breaks: 'a range has one owner',
  },
  'read-below-the-start': {
    file: 'libs/log-sqlite/src/sqlite-log.ts',
    edits: [['      if (from < start) {\n', '      if (from < 0) {\n']],
    caughtBy: 'libs/log-sqlite/src/sqlite-log.test.ts',
    breaks: 'a read below the start of the log is an error, never a reset',
  },
  'trim-past-the-end': {
    file: 'libs/log-sqlite/src/sqlite-log.ts',
    edits: [['    if (before > held.end) {\n', '    if (before > held.end + 1_000) {\n']],
    caughtBy: 'libs/log-sqlite/src/sqlite-log.test.ts',
    breaks: 'a log is not trimmed past its end',
  },
  'large-record-is-taken': {
    file: 'libs/log-sqlite/src/commit-queue.ts',
    edits: [
      ['if (value.byteLength <= recordMaxBytes) continue;', 'if (value.byteLength <= 2 * recordMaxBytes) continue;'],
    ],
    caughtBy: 'libs/log-sqlite/src/sqlite-log.test.ts',
    breaks: 'a record over the limit is refused',
  },
  'append-overtakes-one-in-doubt': {
    file: 'libs/log-kafka/src/appender.ts',
    edits: [['if (!queue.isBusy) this.#ready(queue);', 'this.#ready(queue);']],
    caughtBy: 'libs/log-kafka/src/appender.test.ts',
    breaks: 'nothing goes to a partition while an append to it is under way',
  },
  'memory-queue-without-end': {
    file: 'libs/queue-memory/src/memory-queue.ts',
    edits: [
      [
        'if (this.#waitingCount + jobs.length > WAITING_JOBS_MAX) {',
        'if (this.#waitingCount + jobs.length > WAITING_JOBS_MAX + 1) {',
      ],
    ],
    caughtBy: 'libs/queue-memory/src/memory-queue.test.ts',
    breaks: 'what waits in the queue is bounded',
  },
  'connected-worker-is-dead': {
    file: 'libs/queue-bullmq/src/judge.ts',
    edits: [['if (presence.isConnected) return true;', '']],
    caughtBy: 'libs/queue-bullmq/src/judge.test.ts',
    breaks: 'a worker whose connection stands is alive',
  },
  'damaged-blob-is-given': {
    file: 'libs/blob-fs/src/fs-blobs.ts',
    edits: [["    if (hash('sha256', bytes) !== digest) {\n", "    if (hash('sha256', bytes) === '') {\n"]],
    caughtBy: 'libs/blob-fs/src/fs-blobs.test.ts',
    breaks: 'a blob is what its digest says',
  },
  'object-is-overwritten': {
    file: 'libs/blob-fs/src/fs-objects.ts',
    edits: [["if (codeOf(error) !== 'EEXIST') throw error;", "if (codeOf(error) === 'EEXIST') return true;"]],
    caughtBy: 'libs/blob-fs/src/fs-objects.test.ts',
    breaks: 'an object is created once',
  },
};
