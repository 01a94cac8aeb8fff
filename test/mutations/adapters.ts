/** Owns the mutations of adapters: logs, queues and blobs. */

import type { Mutations } from './mutation.ts';

const FS_BLOBS_TEST = 'libs/adapters/blob-fs/src/fs-blobs.test.ts';
const OBJECT_BLOBS = 'libs/model/codec/src/object-blobs.ts';
const FS_OBJECTS = 'libs/adapters/blob-fs/src/fs-objects.ts';
const FOLDER_ROOT_TEST = 'libs/adapters/blob-fs/src/folder-root.test.ts';
const FOLDER_ROOT = 'libs/adapters/blob-fs/src/folder-root.ts';
const APPENDER_TEST = 'libs/adapters/log-kafka/src/appender.test.ts';
const APPENDER = 'libs/adapters/log-kafka/src/appender.ts';
const FOLDER_TEST = 'libs/adapters/log-sqlite/src/folder.test.ts';
const SQLITE_LOG_TEST = 'libs/adapters/log-sqlite/src/sqlite-log.test.ts';
const SQLITE_LOG = 'libs/adapters/log-sqlite/src/sqlite-log.ts';
const PRESENCE_SERVER = 'libs/adapters/queue-bullmq/src/presence-server.ts';
const PRESENCE_TEST = 'libs/adapters/queue-bullmq/src/presence.test.ts';
const MEMORY_QUEUE_TEST = 'libs/adapters/queue-memory/src/memory-queue.test.ts';

const POOL_CLIENT_TEST = 'libs/adapters/store-postgres/src/pool-client.test.ts';
const POOL_CLIENT = 'libs/adapters/store-postgres/src/pool-client.ts';
const SESSION_CHECK = 'libs/adapters/store-postgres/src/session-check.ts';

export const ADAPTERS_MUTATIONS: Mutations = {
  'template-of-any-folder': {
    file: 'libs/adapters/store-postgres/src/pglite/template.ts',
    edits: [['caches !== undefined && path.isAbsolute(caches)', 'caches']],
    caughtBy: 'libs/adapters/store-postgres/src/pglite/folder.test.ts',
    breaks: 'No database is made from a file of the folder in which a command is given.',
  },
  'sessions-of-old-primary-stay': {
    file: POOL_CLIENT,
    edits: [
      [
        'error.code === READ_ONLY) this.#fresh = new WeakSet();',
        'error.code === READ_ONLY) this.#fresh = this.#fresh;',
      ],
    ],
    caughtBy: POOL_CLIENT_TEST,
    failsWith: 'read-only transaction',
    breaks: 'After a failover of Postgres no session of before is used.',
  },
  'standby-is-used': {
    file: SESSION_CHECK,
    edits: [["answer?.read_only === 'on'", "answer?.read_only === 'never'"]],
    caughtBy: POOL_CLIENT_TEST,
    breaks: 'No session begins on a server that takes no writes.',
  },
  'pooler-of-transactions-is-used': {
    file: SESSION_CHECK,
    edits: [['own : others)) throw pooled(client);', 'own : others)) return;']],
    caughtBy: POOL_CLIENT_TEST,
    breaks: 'A pooler that gives each transaction another session is refused before anything is set.',
  },
  'changed-process-is-not-seen': {
    file: SESSION_CHECK,
    edits: [
      ['[holder, holder, free]', '[holder, free]'],
      ['[holder, free, free]', '[free]'],
    ],
    caughtBy: 'libs/adapters/store-postgres/src/session-check.test.ts',
    breaks: 'A pooler that gives each transaction another session is refused, also where its processes take turns.',
  },
  'connection-to-replica-stays': {
    file: 'libs/adapters/queue-bullmq/src/connection.ts',
    edits: [['TAKES_NO_WRITES.test(error.message)', "error.message === ''"]],
    caughtBy: 'libs/adapters/queue-bullmq/src/connection.test.ts',
    failsWith: 'READONLY',
    breaks: 'After a failover of Redis a connection to the old primary is closed.',
  },
  'linked-folder-is-followed': {
    file: FOLDER_ROOT,
    edits: [['(constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);', '(constants.O_DIRECTORY ?? 0);']],
    caughtBy: FOLDER_ROOT_TEST,
    breaks: 'Nothing outside of a named folder is read or written.',
  },
  'linked-file-is-read': {
    file: 'libs/adapters/blob-fs/src/durable-files.ts',
    edits: [['constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (', 'constants.O_RDONLY | (']],
    caughtBy: FOLDER_ROOT_TEST,
    breaks: 'A link in a named folder is not read through.',
  },
  'drafts-of-others-go': {
    file: FOLDER_ROOT,
    edits: [['if (DRAFT.test(left)) await unlink(', 'await unlink(']],
    caughtBy: FOLDER_ROOT_TEST,
    breaks: 'Only what was made there is removed from a named folder.',
  },
  'temporary-files-of-others-go': {
    file: 'libs/author/repo-state/src/files.ts',
    edits: [['TEMPORARY.exec(name)?.index === file.length', "name.endsWith('.tmp')"]],
    caughtBy: 'libs/author/repo-state/src/writers.test.ts',
    test: 'leaves a whole state, and its rest is removed, and nothing else',
    breaks: "Of a folder of states only a writer's own temporary files are removed.",
  },
  'removed-lock-counts': {
    file: 'libs/author/repo-state/src/lock.ts',
    edits: [['lock !== undefined && isNamed', 'lock !== undefined']],
    caughtBy: 'libs/author/repo-state/src/lock.test.ts',
    breaks: 'Two commands never change the contexts of a user at once.',
  },
  'blob-digest-is-not-checked': {
    file: OBJECT_BLOBS,
    edits: [["if (hash('sha256', bytes) === digest) return bytes;", 'if (bytes.length >= 0) return bytes;']],
    caughtBy: FS_BLOBS_TEST,
    breaks: 'A damaged blob is never given to a reader.',
  },
  'blobs-of-all-in-one-prefix': {
    file: OBJECT_BLOBS,
    edits: [["const of = hash('sha256', workflow);", "const of = hash('sha256', '');"]],
    caughtBy: FS_BLOBS_TEST,
    breaks: 'The payloads of a workflow are its own, and go without those of others.',
  },
  'damaged-blob-is-kept': {
    file: FS_OBJECTS,
    edits: [['existing !== undefined && Buffer.compare(existing, bytes) === 0', 'existing !== undefined']],
    caughtBy: FS_BLOBS_TEST,
    failsWith: 'The blob ',
    breaks: 'Writing a damaged blob again mends it.',
  },
  'blob-name-is-not-durable': {
    file: FS_OBJECTS,
    edits: [
      [
        '      const named = await name(temporary);\n      await this.#makeDurable(file);',
        '      const named = await name(temporary);',
      ],
    ],
    caughtBy: FS_BLOBS_TEST,
    breaks: 'A blob is durable once its write has ended.',
  },
  'missing-folder-is-a-missing-blob': {
    file: FS_OBJECTS,
    edits: [['    if (bytes === undefined) await this.#guard.check();\n', '']],
    caughtBy: FS_BLOBS_TEST,
    breaks: 'A folder that is away is not taken for lost history.',
  },
  'existing-object-counts-as-new': {
    file: FS_OBJECTS,
    edits: [
      [
        '      await this.#makeDurable(file);\n      return false;',
        '      await this.#makeDurable(file);\n      return true;',
      ],
    ],
    caughtBy: 'libs/adapters/blob-fs/src/fs-objects.test.ts',
    test: 'O1: an object is created once, and its bytes never change',
    breaks: 'Of two that create an object, one is reported that it did.',
  },
  'doubt-is-forgotten': {
    file: APPENDER,
    edits: [['        batch.doubt = answer.why;\n', '']],
    caughtBy: APPENDER_TEST,
    breaks: 'A batch in doubt is sent again as it was.',
  },
  'offsets-of-a-batch-are-one': {
    file: APPENDER,
    edits: [['      first += append.records.length;\n', '']],
    caughtBy: APPENDER_TEST,
    breaks: 'Each append of a batch learns its own offset.',
  },
  'partition-sends-twice': {
    file: APPENDER,
    edits: [['      if (!queue.isBusy) this.#ready(queue);', '      this.#ready(queue);']],
    caughtBy: APPENDER_TEST,
    breaks: 'One batch of a partition is under way at a time.',
  },
  'one-bad-record-refuses-its-batch': {
    file: APPENDER,
    edits: [['if (batch.appends.length > 1) {', 'if (batch.appends.length > 1_000) {']],
    caughtBy: APPENDER_TEST,
    breaks: 'A refused append does not refuse others of its batch.',
  },
  'leaders-are-not-asked-again': {
    file: APPENDER,
    edits: [['        isStale ||= answer.isStale;\n', '']],
    caughtBy: APPENDER_TEST,
    breaks: 'After a stale answer the leaders are looked up again.',
  },
  'stored-append-stays-counted': {
    file: 'libs/adapters/log-sqlite/src/commit-queue.ts',
    edits: [['      this.#waitingBytes -= ownBytes;\n', '']],
    caughtBy: FOLDER_TEST,
    test: 'too much waits already',
    failsWith: 'bytes wait already',
    breaks: 'Room for appends comes back once they are stored.',
  },
  'close-drops-appends': {
    file: 'libs/adapters/log-sqlite/src/commit-queue.ts',
    edits: [['    while (this.#waiting.length > 0) this.#flush();\n', '']],
    caughtBy: SQLITE_LOG_TEST,
    failsWith: 'database is not open',
    breaks: 'Appends that were taken are stored before the log closes.',
  },
  'rollback-keeps-the-end': {
    file: SQLITE_LOG,
    edits: [
      [
        'for (const append of appends.slice(0, done).reverse()) this.#partitions[append.partition]!.end = append.first;',
        '',
      ],
    ],
    caughtBy: FOLDER_TEST,
    test: 'its offsets are given again',
    breaks: 'An append that failed leaves no gap in the offsets.',
  },
  'read-below-the-start': {
    file: SQLITE_LOG,
    edits: [['if (from < start) {', 'if (from < 0) {']],
    caughtBy: SQLITE_LOG_TEST,
    breaks: 'A read of what was trimmed says so.',
  },
  'checksum-is-not-checked': {
    file: SQLITE_LOG,
    edits: [['    if (crc32(value) !== crc) throw this.#damagedAt(partition, offset);\n', '']],
    caughtBy: FOLDER_TEST,
    test: 'one changed byte of a value is found when it is read',
    breaks: 'A damaged record is never given to a reader.',
  },
  'budget-of-bytes-is-ignored': {
    file: SQLITE_LOG,
    edits: [['if (records.length > 0 && value.byteLength > budget.leftBytes) break;', '']],
    caughtBy: SQLITE_LOG_TEST,
    breaks: 'A read takes as many bytes as it was given room for.',
  },
  'trim-keeps-no-start': {
    file: SQLITE_LOG,
    edits: [
      [
        '    this.#transaction(() => this.#database.prepare(setStart).run(before, partition));\n    bounds.start = before;',
        '    bounds.start = before;',
      ],
    ],
    caughtBy: SQLITE_LOG_TEST,
    breaks: 'What was trimmed stays away after a restart.',
  },
  'closed-connection-is-death': {
    file: 'libs/adapters/queue-bullmq/src/judge.ts',
    edits: [['  if (presence.isConnected) return true;\n', '']],
    caughtBy: 'libs/adapters/queue-bullmq/src/judge.test.ts',
    breaks: 'A holder that is connected is alive, whatever its beats say.',
  },
  'farewell-is-an-end': {
    file: PRESENCE_SERVER,
    edits: [
      ['isEnded = isDirect && !isFarewell;', 'isEnded = isDirect;'],
      [
        'if (isFarewell || this.#isClosing) return;\n    if (isEnded) this.#hasEnded(holder);',
        'if (isEnded) this.#hasEnded(holder);\n    if (isFarewell || this.#isClosing) return;',
      ],
    ],
    caughtBy: PRESENCE_TEST,
    test: 'false: it said farewell before it closed it',
    breaks: 'A worker that says farewell is not taken for gone (P1).',
  },
  'proxy-speaks-for-a-worker': {
    file: PRESENCE_SERVER,
    edits: [['isEnded = isDirect && !isFarewell;', 'isEnded = !isFarewell;']],
    caughtBy: PRESENCE_TEST,
    test: 'false: a proxy in between closed it',
    breaks: 'A connection that a proxy closed proves no end (P1).',
  },
  'living-client-ends-without-a-word': {
    file: 'libs/adapters/queue-bullmq/src/presence-client.ts',
    edits: [["  else socket.end('bye\\n', () => socket.destroy());", '  else socket.destroy();']],
    caughtBy: PRESENCE_TEST,
    test: 'and not when a client that lives closes its connections, or is back',
    breaks: 'A client that lives says farewell before it closes a connection (P1).',
  },
  'one-word-of-many': {
    file: 'libs/adapters/queue-bullmq/src/judge.ts',
    edits: [
      [
        '&& beat.standing.every((id) => !words.has(id) || hasClosed(id))',
        '&& beat.standing.some((id) => !words.has(id) || hasClosed(id))',
      ],
    ],
    caughtBy: 'libs/adapters/queue-bullmq/src/judge.test.ts',
    breaks: 'A worker that stands with one coordinator lives.',
  },
  'hint-loses-high-bits': {
    file: 'libs/adapters/queue-bullmq/src/partition-set.ts',
    edits: [['value += (byte & 0x7f) * 2 ** shift;', 'value += byte & 0x7f;']],
    caughtBy: 'libs/adapters/queue-bullmq/src/partition-set.test.ts',
    breaks: 'A hint names the partitions that it was sent for.',
  },
  'limit-admits-one-more': {
    file: 'libs/adapters/queue-memory/src/limit-board.ts',
    edits: [['concurrency - running.size;', 'concurrency - running.size + 1;']],
    caughtBy: MEMORY_QUEUE_TEST,
    test: 'are under way; the others of the route go on; all are handled',
    failsWith: 'held.size === 13',
    breaks: 'A limit of concurrency holds.',
  },
  'vanished-are-not-reported': {
    file: 'libs/adapters/queue-memory/src/memory-liveness.ts',
    edits: [['      for (const report of watchers) report(holder);\n', '']],
    caughtBy: 'libs/adapters/queue-memory/src/memory-liveness.test.ts',
    test: 'is told of at once to all who watch, and is not seen any more',
    failsWith: 'gone.length',
    breaks: 'The end of a worker is noticed at once.',
  },
  'queued-job-doubles': {
    file: 'libs/adapters/queue-memory/src/waiting-line.ts',
    edits: [['    if (this.#identities.has(identity)) return false;\n', '']],
    caughtBy: MEMORY_QUEUE_TEST,
    test: 'a waiting job is not added twice: same workflow and time',
    breaks: 'A job that waits already is not queued again.',
  },
  'one-tenant-takes-all': {
    file: 'libs/adapters/queue-memory/src/waiting-line.ts',
    edits: [
      [
        '        tenants.delete(tenant);\n        if (line.length > 0) tenants.set(tenant, line);\n',
        '        if (line.length === 0) tenants.delete(tenant);\n',
      ],
    ],
    caughtBy: MEMORY_QUEUE_TEST,
    test: "a tenant with a few jobs does not wait for another's backlog",
    breaks: 'Tenants take turns.',
  },
};
