/** Owns the mutations of archived history: segments, the compactor and retention. */

import type { Mutations } from './mutation.ts';

const COMPACTOR_TEST = 'libs/engine/runtime/src/archive/compactor.test.ts';
const COMPACTOR = 'libs/engine/runtime/src/archive/compactor.ts';
const RETENTION_TEST = 'libs/engine/runtime/src/archive/retention.test.ts';
const RETENTION = 'libs/engine/runtime/src/archive/retention.ts';

export const ARCHIVE_MUTATIONS: Mutations = {
  'log-is-not-trimmed': {
    file: COMPACTOR,
    edits: [['      await log.trim(partition, manifest.to);\n', '']],
    caughtBy: COMPACTOR_TEST,
    test: 'trims the log to there, and drops rows; all of it reads as before',
    breaks: 'The log is trimmed once its history is archived.',
  },
  'trims-what-is-not-recorded': {
    file: COMPACTOR,
    edits: [['      await this.#options.ports.store.recordSegments([segment]);\n', '']],
    caughtBy: COMPACTOR_TEST,
    test: 'keeps tenants apart: a segment holds one tenant’s workflows',
    breaks: 'A segment is recorded before the log is trimmed.',
  },
  'unverified-manifest': {
    file: COMPACTOR,
    edits: [['return this.#writer.verified(written);', 'return written;']],
    caughtBy: COMPACTOR_TEST,
    test: 'where the place holds another log’s segments',
    breaks: 'A segment of another compactor is read back before its records are trimmed.',
  },
  'clocks-apart-archive': {
    file: COMPACTOR,
    edits: [['if (apartMs <= CLOCKS_APART_MAX_MS) return', 'if (apartMs >= 0) return']],
    caughtBy: COMPACTOR_TEST,
    test: 'while clocks disagree about the hot window',
    breaks: 'Nothing is trimmed while the clocks disagree.',
  },
  'foreign-ranges-are-archived': {
    file: COMPACTOR,
    edits: [['start === undefined || !pass.isOwn(floor)', 'start === undefined']],
    caughtBy: COMPACTOR_TEST,
    test: 'leaves partitions of ranges that are another compactor’s',
    breaks: 'A compactor archives its own ranges.',
  },
  'restored-rows-stay': {
    file: COMPACTOR,
    edits: [['    await this.#dropRestored(nowMs);\n', '']],
    caughtBy: COMPACTOR_TEST,
    test: 'drops rows that were restored, once they were kept for long',
    breaks: 'Rows that were restored are dropped again.',
  },
  'held-history-is-deleted': {
    file: RETENTION,
    edits: [['hold.workflow === null || hold.workflow === workflow', 'hold.workflow === null']],
    caughtBy: RETENTION_TEST,
    test: 'waits while a hold covers it, and goes when that is released',
    breaks: 'History under a legal hold stays.',
  },
  'unended-history-is-deleted': {
    file: RETENTION,
    edits: [['    if (!(await ports.store.isPast(segment, beforeMs))) {\n', '    if (beforeMs < 0) {\n']],
    caughtBy: RETENTION_TEST,
    test: 'waits while a fork shares it, and goes once that was deleted itself',
    breaks: 'History of a workflow that still runs stays.',
  },
  'index-lacks-segments-in-silence': {
    file: RETENTION,
    edits: [['if (unindexedCount > 0) this', 'if (unindexedCount < 0) this']],
    caughtBy: RETENTION_TEST,
    test: 'goes with them once the index, which lacks a segment of old, is whole',
    breaks: 'Each pass warns of segments that stay because the index lacks others.',
  },
  'deleted-without-tombstone': {
    file: RETENTION,
    edits: [['await archive.warm.create(tombstoneName(partition, from), ', 'void (tombstoneName(partition, from), ']],
    caughtBy: RETENTION_TEST,
    test: 'does not come back where another deletes it while it is moved',
    breaks: 'Deleted history leaves a note, so that a reader knows it from lost history.',
  },
  'deleted-before-the-log-knows': {
    file: RETENTION,
    edits: [['    await this.#report(tenant, deletionOf(await this.#manifestOf(segment)));\n', '']],
    caughtBy: RETENTION_TEST,
    test: 'does not come back where another deletes it while it is moved',
    breaks: 'That a policy deletes a segment is an event before it goes.',
  },
  'audit-believes-a-tombstone': {
    file: 'libs/engine/runtime/src/archive/verify-archive.ts',
    edits: [['if (tenant === undefined || !(await reportedOf(tenant)).covers(manifest))', 'if (tenant === undefined)']],
    caughtBy: 'libs/engine/runtime/src/archive/verify-archive.test.ts',
    test: 'and the log says nothing of it, or of another segment or manifest',
    breaks: 'A segment that somebody took away is reported, whatever tombstone they left.',
  },
  'tombstone-takes-history-away': {
    file: 'libs/engine/runtime/src/archive/deletions.ts',
    edits: [['(await archive.isDeleted(manifest)) && isReported(store, manifest)', 'archive.isDeleted(manifest)']],
    caughtBy: 'libs/engine/runtime/src/archive/segment-orphans.test.ts',
    breaks: 'Nothing is taken away for a tombstone that the log does not know.',
  },
  'cold-copy-is-not-read': {
    file: RETENTION,
    edits: [
      [
        "if (stored !== undefined && hash('sha256', stored) === digest) return true;",
        'if (stored !== undefined) return true;',
      ],
    ],
    caughtBy: RETENTION_TEST,
    test: 'stays warm where the cold store gives other bytes',
    breaks: 'A warm copy is removed once the cold one was read back.',
  },
  'chain-leaves-the-last-out': {
    file: 'libs/engine/segments/src/chain.ts',
    edits: [['for (const { value } of records) {', 'for (const { value } of records.slice(0, -1)) {']],
    caughtBy: 'libs/engine/segments/src/chain.test.ts',
    breaks: 'A chain covers each record.',
  },
  'run-longer-than-its-rows': {
    file: 'libs/engine/segments/src/page-checks.ts',
    edits: [['groups > 0 && done < count + (isPacked ? GROUP : 1)', 'groups > 0']],
    caughtBy: 'libs/engine/segments/src/page-checks.test.ts',
    breaks: 'A forged page of a segment takes no more memory than its rows.',
  },
  'unpacks-without-a-budget': {
    file: 'libs/engine/segments/src/row-group-reader.ts',
    edits: [['this.#budget.leftBytes -= size;', '']],
    caughtBy: 'libs/engine/segments/src/row-groups.test.ts',
    test: 'that holds more than a segment may',
    breaks: 'A forged segment unpacks to no more than a segment may hold.',
  },
  'blobs-outlive-their-workflow': {
    file: RETENTION,
    edits: [['    await this.#removeBlobs(segment);\n', '']],
    caughtBy: RETENTION_TEST,
    test: 'them with it, and those of no other workflow, wherever the pass dies',
    breaks: 'What a policy deletes leaves no large payload behind.',
  },
  'blobs-go-with-the-first-segment': {
    file: RETENTION,
    edits: [['isProvedDeleted(archive, ports.store, await this.#manifestOf(other))', 'Promise.resolve(true)']],
    caughtBy: RETENTION_TEST,
    test: 'leaves them to the last segment that has events of it \\(T3\\)',
    breaks: 'A large payload stays as long as a segment has events of its workflow.',
  },
  'blobs-go-for-a-forged-tombstone': {
    file: RETENTION,
    edits: [
      [
        'isProvedDeleted(archive, ports.store, await this.#manifestOf(other))',
        'archive.isDeleted(await this.#manifestOf(other))',
      ],
    ],
    caughtBy: RETENTION_TEST,
    test: 'leaves them to the last segment that has events of it \\(T3\\)',
    breaks: 'No large payload is removed for a tombstone that the log does not confirm.',
  },
  'blobs-go-by-half-an-index': {
    file: RETENTION,
    edits: [[' || (await this.#options.ports.store.recordedEvents(partition, end)) !== end', '']],
    caughtBy: RETENTION_TEST,
    test: 'goes with them once the index, which lacks a segment of old, is whole',
    breaks: 'Where the index lacks segments nothing is deleted: a later pass removes the large payloads too.',
  },
};
