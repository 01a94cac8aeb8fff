/** Owns the mutations of how calls of functions end otherwise than with an outcome: lost races, cancellations, rollbacks. */

import type { Mutations } from './mutation.ts';

const ENDS_TEST = 'libs/testkit/src/function-ends.test.ts';
const RUNNER = 'libs/engine/runtime/src/run/workflow-runner.ts';
const NEXT_TASK = 'libs/engine/runtime/src/run/next-task.ts';

export const FUNCTION_ENDS_MUTATIONS: Mutations = {
  'cancel-unwinds-nothing': {
    file: 'libs/engine/runtime/src/run/ending.ts',
    edits: [['unwinds === true && head.sequence > 0', 'unwinds === undefined && head.sequence > 0']],
    caughtBy: ENDS_TEST,
    test: 'cleans up, and is then compensated',
    breaks: 'A cancelled function cleans up before it is compensated.',
  },
  'waits-outlive-a-cancel': {
    file: NEXT_TASK,
    edits: [['isUnblocked({ ...task, when: [],', 'isUnblocked({ ...task,']],
    caughtBy: ENDS_TEST,
    test: 'waits for nothing more, and may return all the same',
    failsWith: 'cancelled',
    breaks: 'What a cancelled function waits for ends at once.',
  },
  'clean-up-is-not-tried-again': {
    file: RUNNER,
    edits: [
      ['this.#running.size > 0 || this.#isWaitingToUnwind()', 'this.#running.size > 0'],
      ['this.#nextTask() !== undefined || this.#isWaitingToUnwind()', 'this.#nextTask() !== undefined'],
    ],
    caughtBy: ENDS_TEST,
    test: 'tries its clean-up again',
    breaks: 'A clean-up that failed is tried again.',
  },
  'confirmed-at-once-fails': {
    file: RUNNER,
    edits: [['if (thrown instanceof SuspendedError) return;', '']],
    caughtBy: 'libs/engine/runtime/src/effects/effect-pending.test.ts',
    breaks: 'A confirmation right behind the event that began the wait for it is no failure of the step.',
  },
  'cancelled-run-lets-go-of-its-probe': {
    file: RUNNER,
    edits: [
      [
        'if (!isUnwinding(stream.speculative, definition)) {\n        await this.#waitAlike',
        'if (task !== undefined) {\n        await this.#waitAlike',
      ],
    ],
    caughtBy: 'libs/engine/runtime/src/run/takeover.test.ts',
    test: 'ready is asked again under the same lease, and the run unwinds then',
    breaks: 'A cancelled run waits for its validator under its lease.',
  },
  'cancel-in-the-drain-ends': {
    file: RUNNER,
    edits: [['this.#nextTask() !== undefined || this.#isWaitingToUnwind()', 'this.#nextTask() !== undefined']],
    caughtBy: 'libs/engine/runtime/src/run/takeover.test.ts',
    test: 'waits for its retry, cancelled as CheckpointCommitted is appended',
    breaks: 'A cancelled run unwinds whenever its cancellation comes.',
  },
};
