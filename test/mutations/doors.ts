/** Owns the mutations of doors: what other frameworks stand on. */

import type { Mutations } from './mutation.ts';

const THREAD = 'libs/author/langgraph/src/thread.ts';
const KEPT = 'libs/author/langgraph/src/kept.ts';
const GRAPHS_TEST = 'libs/author/langgraph/src/graphs.test.ts';

export const DOOR_MUTATIONS: Mutations = {
  'lost-thread-is-written-on': {
    file: THREAD,
    edits: [['      if (this.#lost !== undefined) throw this.#lost;\n', '']],
    caughtBy: GRAPHS_TEST,
    test: 'keeps nothing of an invocation after its first refusal, wherever it writes, until the newest is read again',
    breaks: 'T1: after a refusal nothing of that invocation is kept.',
  },
  'new-thread-is-joined': {
    file: THREAD,
    edits: [['if (this.#isNew && opened.sequence > 0)', 'if (false)']],
    caughtBy: GRAPHS_TEST,
    test: 'keeps nothing of an invocation after its first refusal, wherever it writes, until the newest is read again',
    breaks: 'T1: where no thread was, one that another process has begun meanwhile is not written on.',
  },
  'thread-moves-on-unseen': {
    file: THREAD,
    edits: [["if ((head?.id ?? '') === id || this.#newest.get(namespace, id) === undefined) return;", 'return;']],
    caughtBy: GRAPHS_TEST,
    test: 'has one writer within a process as well',
    breaks: 'T2: of two invocations in one process, the one that is behind writes nothing.',
  },
  'time-travel-is-refused': {
    file: THREAD,
    edits: [['if (found !== undefined) this.#newest.delete(namespace, id);', '']],
    caughtBy: GRAPHS_TEST,
    test: 'goes on from its past at a person’s wish, and forks there',
    failsWith: 'has gone on to checkpoint',
    breaks: 'T2: who reads a checkpoint by its id may go on from it.',
  },
  'early-writes-are-lost': {
    file: THREAD,
    edits: [['since: this.#early.get(namespace, id) ?? at });', 'since: at });']],
    caughtBy: GRAPHS_TEST,
    test: 'has what was written before a checkpoint that comes later, once that is there',
    breaks: 'Writes that arrive before their checkpoint belong to it.',
  },
  'namespaces-are-lost': {
    file: KEPT,
    edits: [["{ kind: 'left', namespace: oldest, at },", 'undefined,']],
    caughtBy: GRAPHS_TEST,
    test: 'keeps messages, parallel tasks and more subgraphs than its newest state has room for',
    breaks: 'A subgraph’s newest checkpoint is found, however many there are.',
  },
  'threads-of-other-tenants': {
    file: 'libs/author/langgraph/src/thread-names.ts',
    edits: [
      ["const isPlain = this.tenant === 'default' && PLAIN.test(thread);", 'const isPlain = PLAIN.test(thread);'],
    ],
    caughtBy: GRAPHS_TEST,
    test: 'shows a thread to its own tenant alone',
    failsWith: 'belongs to another tenant',
    breaks: 'Threads of one name of two tenants are two threads.',
  },
  'adopted-while-it-runs': {
    file: 'libs/author/langgraph/src/adopt.ts',
    edits: [['if (newest.length !== tuples.length) {', 'if (false) {']],
    caughtBy: 'libs/author/langgraph/src/adopt.test.ts',
    test: 'says when the thread was invoked at the source meanwhile',
    breaks: 'A thread that goes on at its source is not taken over in silence.',
  },
  'adopted-over-its-own': {
    file: 'libs/author/langgraph/src/adopt.ts',
    edits: [['if (strange !== undefined) {', 'if (false) {']],
    caughtBy: 'libs/author/langgraph/src/adopt.test.ts',
    test: 'takes a thread over in flight, none of whose tasks runs twice, and gives it back whole',
    breaks: 'A thread that went on here is not mixed with what its old place has.',
  },
  'belief-of-a-single-change': {
    file: 'libs/engine/runtime/src/shadow/recorded-stream.ts',
    edits: [['page.slice(Math.max(0, page', 'page.slice(Math.max(-1, page']],
    caughtBy: GRAPHS_TEST,
    test: 'goes on from its past at a person’s wish, and forks there',
    failsWith: "doesn't fit the belief before it",
    breaks: 'Belief at an entry is made of all changes since the last whole one.',
  },
};
