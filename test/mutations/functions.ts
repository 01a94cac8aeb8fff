/** Owns the mutations of functions: what is matched to what is recorded, and when a live function is void. */

import type { Mutations } from './mutation.ts';

const FUNCTIONS_TEST = 'libs/testkit/src/functions.test.ts';
const LIVE_RUN = 'libs/author/sdk/src/function/live-run.ts';
const FUNCTION = 'libs/author/sdk/src/function/function.ts';

export const FUNCTION_MUTATIONS: Mutations = {
  'function-asks-unchecked': {
    file: LIVE_RUN,
    edits: [['|| (call.asks !== id.asks && call.takesRecorded !== true)', '']],
    caughtBy: FUNCTIONS_TEST,
    test: 'whose code changed under a live run asks a person: a request was changed',
    breaks: 'No call of a function gets the outcome of another request.',
  },
  'function-begun-unasked': {
    file: LIVE_RUN,
    edits: [['for (const begun of begins)', 'for (const begun of begins.slice(0, 0))']],
    caughtBy: FUNCTIONS_TEST,
    test: 'whose code changed under a live run asks a person: a wait was renamed',
    breaks: 'What a function began, it asks for again, or a person is asked.',
  },
  'function-chapters-mixed': {
    file: FUNCTION,
    edits: [['(record) => record.chapter === chapter', '() => true']],
    caughtBy: FUNCTIONS_TEST,
    test: 'has the same time, chance and versions at every crash, and others in the next chapter',
    failsWith: 'crash',
    breaks: 'A chapter is given nothing of the one before.',
  },
  'function-resumed-in-haste': {
    file: LIVE_RUN,
    edits: [['others.length === 0 ? REPLAY_WAIT_MS', 'others.length === 0 ? 0']],
    caughtBy: FUNCTIONS_TEST,
    test: 'is resumed although it awaited what nobody records before its calls',
    failsWith: 'function-changed',
    breaks: 'A function may await what nobody records.',
  },
  'function-versions-new': {
    file: LIVE_RUN,
    edits: [['(this.isReplaying ? 1 : current)', 'current']],
    caughtBy: FUNCTIONS_TEST,
    test: 'knows which version of a change it has met',
    failsWith: 'function-changed',
    breaks: 'A run that came by a change before it was made keeps the old path.',
  },
  'function-call-in-call': {
    file: LIVE_RUN,
    edits: [['if (outer === undefined) return;', 'if (outer !== this.asked.join()) return;']],
    caughtBy: FUNCTIONS_TEST,
    test: 'is told of a call that it did not await, and of one within a closure',
    breaks: 'A call within a recorded closure is refused.',
  },
  'function-failure-is-a-value': {
    file: 'libs/author/sdk/src/function/outcome.ts',
    edits: [['if (isFailed) return', 'if (isFailed === null) return']],
    caughtBy: FUNCTIONS_TEST,
    test: 'throws the same failure after a crash',
    breaks: 'A call that failed throws in each call of the function.',
  },
  'function-chapter-forgets-its-seed': {
    file: FUNCTION,
    edits: [['journal[0]?.opens ??', 'journal[9_999]?.opens ??']],
    caughtBy: FUNCTIONS_TEST,
    test: 'has the same time, chance and versions at every crash, and others in the next chapter',
    failsWith: 'crash',
    breaks: 'Chance is the same for each call of a function in one chapter.',
  },
  'function-draws-what-is-unrecorded': {
    file: FUNCTION,
    edits: [['!drawsFirst && only.isClosure === true', 'only.perform !== undefined']],
    caughtBy: FUNCTIONS_TEST,
    test: 'has the same time and chance in its first call, also where a crash comes before any checkpoint',
    failsWith: 'crash',
    breaks: 'Time and chance of a function are the same for its first call as well.',
  },
  'any-step-adds-anything': {
    file: 'libs/engine/runtime/src/run/declare-tasks.ts',
    edits: [['&& !by.mayAdd.has(ANY_STEP)', '&& by.mayAdd.size === 0']],
    caughtBy: 'libs/engine/runtime/src/run/commit.test.ts',
    test: 'are refused when the flow does not, with what to declare',
    breaks: 'A step adds only tasks that the flow names.',
  },
  'journal-skipped-in-a-fork': {
    file: 'libs/engine/runtime/src/history/lineage.ts',
    edits: [['Math.max(1, after - shift + 1)', 'Math.max(1, after + 1)']],
    caughtBy: FUNCTIONS_TEST,
    test: 'continues in a fork with what its chapter has recorded',
    failsWith: 'waits for a person',
    breaks: 'A fork of a function resumes with the outcomes that it shares.',
  },
  'function-ends-early': {
    file: FUNCTION,
    edits: [["if ('output' in end && underWay.length > 0) {", "if ('output' in end && underWay.length > 99) {"]],
    caughtBy: FUNCTIONS_TEST,
    test: 'is told of a call that it did not await, and of one within a closure',
    breaks: 'A function that returns before its calls have ended is told so.',
  },
};
