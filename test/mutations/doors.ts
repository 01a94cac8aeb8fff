/** Owns the mutations of doors: what other frameworks stand on. */

import type { Mutations } from './mutation.ts';

const THREAD = 'libs/author/langgraph/src/thread.ts';
const KEPT = 'libs/author/langgraph/src/kept.ts';
const INVOCATIONS_TEST = 'libs/author/langgraph/src/invocations.test.ts';
const GRAPHS_TEST = 'libs/author/langgraph/src/graphs.test.ts';

export const DOOR_MUTATIONS: Mutations = {
  'refused-invocation-writes-on': {
    file: THREAD,
    edits: [['if (by.refusal !== undefined) throw by.refusal;', '']],
    caughtBy: INVOCATIONS_TEST,
    test: 'what was deleted is not written back by who read it before',
    breaks: 'T1: after a refusal nothing of that invocation is kept.',
  },
  'invocations-see-no-other': {
    file: THREAD,
    edits: [['if (!isSame || (position ?? by.sequence) !== before)', 'if (!isSame)']],
    caughtBy: INVOCATIONS_TEST,
    test: 'keeps nothing, its subgraphs neither, behind one of the same process',
    breaks: 'T1: of two invocations in one process, the one that is behind writes nothing.',
  },
  'updates-lose-each-other': {
    file: THREAD,
    edits: [["if (read === 'newest' || (isPut", 'if ((isPut']],
    caughtBy: INVOCATIONS_TEST,
    test: 'two updates that read the same checkpoint do not lose each other',
    breaks: 'T2: whoever writes on from what is no longer the newest is refused.',
  },
  'oversized-takes-others-along': {
    file: THREAD,
    edits: [['if (!isLast && (error instanceof LimitError || error instanceof InvalidError)) return false;', '']],
    caughtBy: INVOCATIONS_TEST,
    test: 'is refused by itself, and is never seen',
    breaks: 'What is too large is refused by itself.',
  },
  'heads-without-a-bound': {
    file: KEPT,
    edits: [['HEADS_MAX_COUNT && chars <= HEADS_MAX_CHARS) break;', 'HEADS_MAX_COUNT) break;']],
    caughtBy: INVOCATIONS_TEST,
    test: 'is not the sum of what fits: many large namespaces, and long names of them',
    failsWith: 'bytes',
    breaks: 'Namespaces that fit one by one fit together.',
  },
  'early-writes-are-lost': {
    file: THREAD,
    edits: [['?? this.#writtenBefore.get(namespace, id) ?? at;', '?? at;']],
    caughtBy: GRAPHS_TEST,
    test: 'has what was written before a checkpoint that comes later, once that is there',
    breaks: 'Writes that arrive before their checkpoint belong to it.',
  },
  'namespaces-are-lost': {
    file: THREAD,
    edits: [['step: leftStep(entry.namespace), what', "step: leftStep(''), what"]],
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
    edits: [['if (JSON.stringify(after.map(stateOf)) !== JSON.stringify(tuples.map(stateOf))) {', 'if (false) {']],
    caughtBy: 'libs/author/langgraph/src/adopt.test.ts',
    test: 'says when the thread was invoked at the source meanwhile',
    breaks: 'A thread that goes on at its source is not taken over in silence.',
  },
  'adopted-over-its-own': {
    file: 'libs/author/langgraph/src/adopt.ts',
    edits: [['if (there !== undefined && writes.every((name) => there.includes(name))) continue;', 'continue;']],
    caughtBy: 'libs/author/langgraph/src/adopt.test.ts',
    test: 'takes a thread over in flight, none of whose tasks runs twice, and gives it back whole',
    breaks: 'A thread that went on here is not mixed with what its old place has.',
  },
  'belief-of-a-single-change': {
    file: 'libs/engine/runtime/src/shadow/recorded-stream.ts',
    edits: [['page.slice(Math.max(0, whole))', 'page.slice(whole)']],
    caughtBy: GRAPHS_TEST,
    test: 'goes on from its past at a person’s wish, and forks there',
    failsWith: "doesn't fit the belief before it",
    breaks: 'Belief at an entry is made of all changes since the last whole one.',
  },
};
