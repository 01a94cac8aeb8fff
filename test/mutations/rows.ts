/** Owns the mutations of rows: the projector, the waits for it, and the SQL of the store. */

import type { Mutations } from './mutation.ts';

const PROJECTOR_TEST = 'libs/engine/runtime/src/projection/projector.test.ts';
const PROJECTOR = 'libs/engine/runtime/src/projection/projector.ts';
const PGLITE_STORE_TEST = 'libs/adapters/store-postgres/src/pglite-store.test.ts';

export const ROWS_MUTATIONS: Mutations = {
  'rebuilt-rows-are-counted-again': {
    file: PROJECTOR,
    edits: [
      [
        '      this.#lifecycle.accept(prepared.lifecycle);\n    }',
        '    }\n    this.#lifecycle.accept(prepared.lifecycle);',
      ],
    ],
    caughtBy: 'libs/engine/runtime/src/projection/lifecycle-metrics.test.ts',
    breaks: 'A workflow is counted once as it starts and ends, however often its rows are rebuilt.',
  },
  'recovery-timed-from-the-last-death': {
    file: 'libs/engine/runtime/src/projection/lifecycle-metrics.ts',
    edits: [['    if (isUnsettled && this.#interruptedMs.has(workflow)) return;\n', '']],
    caughtBy: 'libs/engine/runtime/src/projection/lifecycle-metrics.test.ts',
    breaks: 'A recovery lasts from the first death to the next checkpoint, also where another holder dies meanwhile.',
  },
  'answers-of-an-ended-thread': {
    file: 'libs/adapters/store-postgres/src/pglite/thread.ts',
    edits: [['          if (this.#worker !== worker) return;\n          if (message', '          if (message']],
    caughtBy: 'libs/adapters/store-postgres/src/pglite/wire.test.ts',
    test: 'than an answer may take: each query gets its own answer or a time-out',
    breaks: "No row is read from another query's answer.",
  },
  'applied-one-early': {
    file: 'libs/engine/runtime/src/history/applied.ts',
    edits: [
      ['(next.get(waiter.partition) ?? -1) < waiter.offset', '(next.get(waiter.partition) ?? -1) < waiter.offset - 1'],
    ],
    caughtBy: 'libs/engine/runtime/src/history/applied.test.ts',
    breaks: 'A caller that waits for an event finds its rows.',
  },
  'store-outage-ends-the-wait': {
    file: 'libs/engine/runtime/src/history/applied.ts',
    edits: [['if (!(error instanceof UnavailableError)) throw error;', 'throw error;']],
    caughtBy: 'libs/engine/runtime/src/history/applied.test.ts',
    breaks: 'A wait outlives an outage of the store.',
  },
  'partitions-are-not-fenced': {
    file: 'libs/engine/runtime/src/projection/partition-rows.ts',
    edits: [['    await Promise.all(some.map((partition) => fence(options, partition)));\n', '']],
    caughtBy: 'libs/engine/runtime/src/projection/partition-rows.test.ts',
    breaks: 'A partition is fenced before it gets rows (I1).',
  },
  'trimmed-log-gets-rows': {
    file: 'libs/engine/runtime/src/projection/partition-rows.ts',
    edits: [['    await refuseTrimmed(log, some);\n', '']],
    caughtBy: 'libs/engine/runtime/src/projection/partition-rows.test.ts',
    breaks: 'Rows are not rebuilt from a log whose beginning is gone.',
  },
  'failed-write-loses-the-hint': {
    file: PROJECTOR,
    edits: [['      this.#rehint(prepared.partitions);\n      this.#alone', '      this.#alone']],
    caughtBy: PROJECTOR_TEST,
    breaks: 'A partition whose batch failed is projected again (R2).',
  },
  'old-tables-take-new-batches': {
    file: PROJECTOR,
    edits: [['if (storeId !== this.#storeId) this.forgetAll();', '']],
    caughtBy: PROJECTOR_TEST,
    breaks: 'Rebuilt tables take no batch that was folded on the old ones (R3).',
  },
  'damage-halts-all': {
    file: PROJECTOR,
    edits: [['return this.#read(reads.filter((read) => read.partition !== halted));', 'return [];']],
    caughtBy: PROJECTOR_TEST,
    breaks: 'One damaged partition does not stop the others.',
  },
  'rest-of-a-read-is-dropped': {
    file: PROJECTOR,
    edits: [['if (before.next + taken.length < end) this.#hinted.add(partition);', '']],
    caughtBy: PROJECTOR_TEST,
    breaks: 'A hint is dropped only after a read that found nothing more (R2).',
  },
  'batches-overtake': {
    file: PROJECTOR,
    edits: [['      // One batch at a time is written while the next is prepared.\n      await this.#writing;\n', '']],
    caughtBy: PROJECTOR_TEST,
    breaks: 'Batches are written in the order of the log.',
  },
  'rows-advance-from-anywhere': {
    file: 'libs/adapters/store-postgres/src/sql/advance-partitions.ts',
    edits: [['  where partitions.next = excluded.rebuild_to\n    and (', '  where (']],
    caughtBy: PGLITE_STORE_TEST,
    test: 'refuses a batch that starts elsewhere, and writes nothing of it .P1.',
    breaks: 'Rows advance only from where they stand.',
  },
  'old-tables-take-batches': {
    file: 'libs/adapters/store-postgres/src/sql/advance-partitions.ts',
    edits: [
      [
        '\n    and ($5::text is null or exists (select from meta where incarnation::text = $5))',
        '\n    and ($5::text is null or true)',
      ],
    ],
    caughtBy: PGLITE_STORE_TEST,
    test: 'folded on another making of the tables .P1.',
    breaks: 'A batch goes to the tables that it was folded on.',
  },
  'closed-stays-placed': {
    file: 'libs/adapters/store-postgres/src/sql/close-workflows.ts',
    edits: [['set live = false where', 'set live = true where']],
    caughtBy: PGLITE_STORE_TEST,
    test: 'also those of the same batch',
    breaks: 'A partition is free once its workflow has ended.',
  },
  'due-timers-of-the-future': {
    file: 'libs/adapters/store-postgres/src/sql/coordinate.ts',
    edits: [['where due_at_ms <= $1 and', 'where due_at_ms <= $1::float8 + 1000 and']],
    caughtBy: PGLITE_STORE_TEST,
    test: 'timers that are due, earliest first',
    breaks: 'No timer fires before its time.',
  },
  'runnable-page-repeats': {
    file: 'libs/adapters/store-postgres/src/sql/coordinate.ts',
    edits: [['where w.runnable and w.workflow > $1', 'where w.runnable and w.workflow >= $1']],
    caughtBy: PGLITE_STORE_TEST,
    test: 'page by page, with what a job carries',
    breaks: 'Each workflow is on one page.',
  },
  'snapshot-misses-the-base': {
    file: 'libs/adapters/store-postgres/src/sql/load-streams.ts',
    edits: [['sequence >= wanted.belief_sequence and', 'sequence > wanted.belief_sequence and']],
    caughtBy: PGLITE_STORE_TEST,
    test: 'the opening need, and no others',
    breaks: 'A claim reads the snapshot that its deltas rest on.',
  },
  'request-of-effect-is-lost': {
    file: 'libs/adapters/store-postgres/src/sql/put-effects.ts',
    edits: [['request = coalesce(excluded.request, effects.request)', 'request = excluded.request']],
    caughtBy: PGLITE_STORE_TEST,
    test: 'whatever came of it, in later batches too',
    breaks: 'An effect keeps its request once it has an outcome.',
  },
  'live-history-is-past': {
    file: 'libs/adapters/store-postgres/src/sql/segments.ts',
    edits: [['w.closed_in_generation is null or w.updated_at_ms >= $3 or', 'w.updated_at_ms >= $3 or']],
    caughtBy: PGLITE_STORE_TEST,
    test: 'all of its workflows have ended before then',
    breaks: 'History of a live workflow is not deleted.',
  },
  'resumed-unsaid': {
    file: 'libs/model/core/src/fold-holder.ts',
    edits: [['    ...(stream.isUnsettled && { resumed: true }),\n', '']],
    caughtBy: 'libs/engine/runtime/src/projection/lifecycle-metrics.test.ts',
    test: 'one that is interrupted twice and then commits: resumed once of one, and timed from the first death to that commit',
    breaks: 'The share of all executions that resumed counts each that did.',
  },
  'control-arm-recalls': {
    file: 'libs/engine/runtime/src/agent/session-memory.ts',
    edits: [['if (isControl) return', 'if (isControl && handOvers.length > 99) return']],
    caughtBy: 'libs/testkit/src/sessions.test.ts',
    test: 'of the control arm sees nothing that is recalled, only its hand-over; each arm is recorded, and each bundle rebuilt',
    breaks: 'Nothing is recalled into bundles of the control arm, or the arms compare nothing.',
  },
  'children-leave-their-arm': {
    file: 'libs/engine/runtime/src/run/opening.ts',
    edits: [['tags: recallTagsOf(tags), parent', 'parent']],
    caughtBy: 'libs/testkit/src/sessions.test.ts',
    test: 'of the control arm has its children and forks in it too, whichever step began them',
    breaks: 'What a session of the control arm begins recalls nothing either.',
  },
  'arm-of-callers': {
    file: 'libs/engine/runtime/src/lease/workflow-name.ts',
    edits: [['    !tag.startsWith(OWN_TAG_PREFIX) &&\n', '']],
    caughtBy: 'libs/testkit/src/sessions.test.ts',
    test: 'of the control arm sees nothing that is recalled, only its hand-over; each arm is recorded, and each bundle rebuilt',
    breaks: 'No caller chooses the arm of a session.',
  },
};
