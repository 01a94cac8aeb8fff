/** Owns the mutations of the tool loop. */

import type { Mutations } from './mutation.ts';

const AGENT = 'libs/author/sdk/src/agent.ts';
const AGENT_TEST = 'libs/testkit/src/agent.test.ts';

export const AGENTS_MUTATIONS: Mutations = {
  'a-rule-is-a-leave': {
    file: AGENT,
    edits: [
      ["!['not-applicable', 'approved', 'denied', 'user-approval'].includes(status?.type)", 'status === undefined'],
    ],
    caughtBy: AGENT_TEST,
    test: 'is never made by a rule that gives something else',
    breaks: 'Only a known status lets a call be made.',
  },
  'refused-calls-are-made': {
    file: AGENT,
    edits: [['if (!cause.approved) return', 'if (!cause.approved && cause.why === undefined) return']],
    caughtBy: AGENT_TEST,
    test: 'is not made when the person refuses, and the model hears the words',
    breaks: 'A call that a person refused is not made.',
  },
  'late-calls-are-made': {
    file: AGENT,
    edits: [["if (cause?.kind === 'timer') return", "if (cause?.kind === 'timer' && name === '') return"]],
    caughtBy: AGENT_TEST,
    test: 'is not made when nobody answers in time',
    breaks: 'A call that nobody approved in time is not made.',
  },
  'old-plans-are-made': {
    file: AGENT,
    edits: [["if (type === 'denied' || type === 'user-approval')", "if (type === 'denied' && name === '')"]],
    caughtBy: AGENT_TEST,
    test: 'is not made where its rule has changed since it was planned',
    breaks: 'A call that an older version planned is made by the rules of the newer one.',
  },
  'changes-are-forgotten': {
    file: AGENT,
    edits: [['{ ...call, input: value as Json }', 'call']],
    caughtBy: AGENT_TEST,
    test: 'is made as the person changes it, within its schema, and the model is told',
    breaks: 'What a person approved is what is done.',
  },
  'unfit-calls-ask': {
    file: AGENT,
    edits: [['if (read?.success !== true) return LEAVE;', 'if (rule === undefined) return LEAVE;']],
    caughtBy: AGENT_TEST,
    test: 'tells the model what it can not call, and what failed for good',
    breaks: 'Nobody is asked about a call that can not be made.',
  },
  'names-of-any-length': {
    file: 'libs/author/sdk/src/fragments.ts',
    edits: [["name === '' ? 'unnamed' : name.slice(0, NAME_MAX_CHARS)", 'name']],
    caughtBy: AGENT_TEST,
    test: 'tells the model what it can not call, and what failed for good',
    failsWith: 'give a name of 1 to 512 characters',
    breaks: 'No name that a model makes up parks its run.',
  },
  'thoughts-outrun-results': {
    file: AGENT,
    edits: [["task('think', {}, { after: acts })", "task('think', {}, { after: acts.slice(1) })"]],
    caughtBy: AGENT_TEST,
    test: 'asks in its words, keeps no other call waiting, and is made as the model wanted',
    // The run may have ended before its question is seen.
    failsWith: 'not within ',
    breaks: 'Each call has its result before the next thought.',
  },
  'steps-without-a-bound': {
    file: AGENT,
    edits: [['steps.length >= stepCount', 'steps.length >= stepCount + 1']],
    caughtBy: AGENT_TEST,
    test: 'comes after so many steps, as it says, and the run fails',
    breaks: 'A loop ends with its step count.',
  },
  'an-empty-end-is-success': {
    file: AGENT,
    edits: [['if (stepCount === undefined && output === undefined)\n', 'if (output === undefined)\n']],
    caughtBy: AGENT_TEST,
    test: 'comes after so many steps, as it says, and the run fails',
    breaks: 'A run that met its step count has not succeeded.',
  },
  'an-answer-comes-early': {
    file: AGENT,
    edits: [['if (others.length > 0 || call.name', 'if (call.name']],
    caughtBy: AGENT_TEST,
    test: 'gives it by a call, which must fit and come alone',
    breaks: 'An answer beside other calls is not taken: it tells of results that are not there.',
  },
  'doubt-is-told-as-failure': {
    file: AGENT,
    edits: [['error instanceof EffectError && error.isSettled', 'error instanceof EffectError']],
    caughtBy: AGENT_TEST,
    test: 'fails as a whole where a tool says so, and asks a person about a call that may have been made',
    breaks: 'A call that may have been made is not told as a failure.',
  },
  'a-read-that-fails-is-open': {
    file: 'libs/engine/runtime/src/effects/kept-effect.ts',
    edits: [['|| spentOf !== undefined || changesNothing', '|| spentOf !== undefined || (changesNothing && false)']],
    caughtBy: AGENT_TEST,
    test: 'tells the model what it can not call, and what failed for good',
    failsWith: 'tool.gone: Not found',
    breaks: 'A tool that only answers and fails leaves nothing open.',
  },
  'forms-begin-empty': {
    file: 'libs/engine/runtime/src/run/declare-tasks.ts',
    edits: [['preset === undefined\n', "preset === undefined || where !== ''\n"]],
    caughtBy: AGENT_TEST,
    test: 'asks in its words, keeps no other call waiting, and is made as the model wanted',
    breaks: 'Whoever approves without a change approves what was asked.',
  },
  'refused-calls-end-the-loop': {
    file: 'libs/author/sdk/src/agent.ts',
    edits: [['isMade && id === call.id', 'id === call.id']],
    caughtBy: AGENT_TEST,
    test: 'comes with a call that was made, not with one that was denied, refused, or did not fit',
    breaks: 'A call that nobody made ends no loop as if it had been made.',
  },
  'answers-are-asked-without-tools': {
    file: 'libs/author/sdk/src/agent.ts',
    edits: [['tools: [ANSWER], settings', 'tools: [], settings']],
    caughtBy: AGENT_TEST,
    test: 'takes JSON, and asks for it where there are words',
    breaks: 'A conversation with calls is never sent without tools.',
  },
};
