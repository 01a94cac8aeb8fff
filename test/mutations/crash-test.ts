/** Owns the mutations of `tidemark crash-test`: what it would fail to find. */

import type { Mutations } from './mutation.ts';

const FOLDER = 'libs/operate/cli/src/crash-test';
const JUDGE_TEST = `${FOLDER}/judge.test.ts`;
const RECEIVER_TEST = `${FOLDER}/receiver.test.ts`;

export const CRASH_TEST_MUTATIONS: Mutations = {
  'another-key-is-no-double': {
    file: `${FOLDER}/judge.ts`,
    edits: [['if (key === null || !one.keys.has(key)) one.distinct++;', 'if (key === null) one.distinct++;']],
    caughtBy: JUDGE_TEST,
    breaks: 'A call that is made again under another key is doubled.',
  },
  'unmade-call-is-not-lost': {
    file: `${FOLDER}/judge.ts`,
    edits: [
      ['for (const [request, { what, count }] of expected) add', 'for (const [request, { what, count }] of made) add'],
    ],
    caughtBy: JUDGE_TEST,
    breaks: 'A call of the calm run that nobody made is lost work.',
  },
  'kill-counts-what-never-came': {
    file: `${FOLDER}/receiver.ts`,
    edits: [["if (onMoment('unreceived', number)) return void response.destroy();", '']],
    caughtBy: RECEIVER_TEST,
    breaks: 'There is a kill before each call was received.',
  },
  'killed-test-leaves-its-processes': {
    file: `${FOLDER}/keeper.ts`,
    edits: [["process.kill(-Number(each.slice('group '.length)), 'SIGKILL')", 'void each']],
    caughtBy: RECEIVER_TEST,
    breaks: 'Nothing is left of a crash test, also of one that was killed.',
  },
};
