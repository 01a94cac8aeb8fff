/** Owns the mutations of what calls share, and of what follows from crashes of workers. */

import type { Mutations } from './mutation.ts';

const MEMORY_CALLS = 'libs/adapters/queue-memory/src/memory-calls.ts';
const MEMORY_CALLS_TEST = 'libs/adapters/queue-memory/src/memory-calls.test.ts';
const CALL_LIMITS_TEST = 'libs/testkit/src/call-limits.test.ts';
const KEPT_BY_RUNS =
  'is kept by runs that wait for their turn off the worker, whatever their step catches and however often it may fail';
const TAKEOVER_TEST = 'libs/engine/runtime/src/run/takeover.test.ts';

export const CALLS_MUTATIONS: Mutations = {
  'places-in-line-are-lost': {
    file: MEMORY_CALLS,
    edits: [['known.places.set(who, place);', '']],
    caughtBy: MEMORY_CALLS_TEST,
    breaks: 'A call that comes back has the place that it had.',
  },
  'tenants-in-one-line': {
    file: MEMORY_CALLS,
    edits: [
      ['own ?? Math.max(known.turns.get(tenant) ?? 0, known.v)', 'own ?? Math.max(known.v, ...known.turns.values())'],
    ],
    caughtBy: MEMORY_CALLS_TEST,
    breaks: 'A few calls of a tenant do not wait behind the backlog of another.',
  },
  'late-calls-come-together': {
    file: MEMORY_CALLS,
    edits: [['if (cost.spaceMs > 0) known.tatMs', 'if (cost.spaceMs > 1e9) known.tatMs']],
    caughtBy: MEMORY_CALLS_TEST,
    breaks: 'A rate is kept, however late those come whose turn it was.',
  },
  'many-trials-at-once': {
    file: MEMORY_CALLS,
    edits: [['running.has(trial) ?', "running.has('') ?"]],
    caughtBy: MEMORY_CALLS_TEST,
    breaks: 'One trial at a time tells whether a receiver is back.',
  },
  'one-receiver-silences-all-for-a-day': {
    file: MEMORY_CALLS,
    edits: [['Math.min(end.askedMs, RULES.askedMaxMs)', 'end.askedMs']],
    caughtBy: MEMORY_CALLS_TEST,
    breaks: 'Of the wait that one receiver asks for, others wait 5 minutes at most.',
  },
  'tokens-are-not-settled': {
    file: MEMORY_CALLS,
    edits: [['end.tokens !== undefined && scope.tokens !== undefined', 'false']],
    caughtBy: MEMORY_CALLS_TEST,
    breaks: 'What a call did not use of a limit of tokens is given back.',
  },
  'a-step-catches-its-turn': {
    file: 'libs/engine/runtime/src/run/step-attempt.ts',
    edits: [['if (isStop(error)) this', 'if (error instanceof ParkError && isStop(error)) this']],
    caughtBy: CALL_LIMITS_TEST,
    test: KEPT_BY_RUNS,
    breaks: 'A step never takes the wait for a turn for an answer.',
  },
  'a-turn-is-taken-between-intention-and-call': {
    file: 'libs/engine/runtime/src/effects/journaled-call.ts',
    edits: [['if (mayCall) continue;', '']],
    caughtBy: 'libs/engine/runtime/src/effects/effect-journal.test.ts',
    test: 'keeps the turn that it took before, so no wait leaves an intention in doubt, and gives it back once',
    breaks: 'No wait for a turn leaves a call in doubt.',
  },
  'a-turn-is-kept-by-who-may-not-call': {
    file: 'libs/engine/runtime/src/effects/journaled-call.ts',
    edits: [["void turn?.end({ kind: 'unmade' });", '']],
    caughtBy: 'libs/engine/runtime/src/effects/effect-journal.test.ts',
    test: 'gives its turn back where it is not prepared again',
    breaks: 'A turn is given back however its call ends.',
  },
  'one-model-slows-its-provider': {
    file: 'libs/model/ports/src/call-rules.ts',
    edits: [['&& isAsked !== true', '&& isAsked === null']],
    caughtBy: MEMORY_CALLS_TEST,
    breaks: 'What one model, or one receiver, asks for slows no other.',
  },
  'a-turn-uses-up-attempts': {
    file: 'libs/engine/runtime/src/lease/attempt-failure.ts',
    edits: [['patienceMs > 0 || wait !== undefined', 'patienceMs > 0']],
    caughtBy: CALL_LIMITS_TEST,
    test: KEPT_BY_RUNS,
    breaks: 'Who waits for a turn has not failed.',
  },
  'a-turn-uses-up-patience': {
    file: 'libs/engine/runtime/src/lease/attempt-failure.ts',
    edits: [['nowMs - outage.sinceMs - (task.outage?.inLineMs ?? 0)', 'nowMs - outage.sinceMs']],
    caughtBy: 'libs/engine/runtime/src/lease/attempt-failure.test.ts',
    breaks: 'The time in line uses up no patience.',
  },
  'receivers-share-one-circuit': {
    file: 'libs/author/sdk/src/effect.ts',
    edits: [['if (receiver !== undefined)', 'if (receiver === undefined)']],
    caughtBy: CALL_LIMITS_TEST,
    test: 'is learned from faults: once a receiver is down others wait for it without a call, and those of another receiver do not',
    breaks: 'A receiver that is down keeps no calls of another waiting.',
  },
  'recovery-of-the-definition-is-ignored': {
    file: 'libs/model/core/src/recovery.ts',
    edits: [['own?.attempts ?? fleet.attempts', 'fleet.attempts']],
    caughtBy: TAKEOVER_TEST,
    test: 'a person is asked after as many as the definition says',
    breaks: 'A definition says how many crashes its workflows survive.',
  },
  'no-rest-after-a-crash': {
    file: 'libs/engine/runtime/src/run/workflow-runner.ts',
    edits: [['if (restMs > 0 && !isUnwinding', 'if (restMs < 0 && !isUnwinding']],
    caughtBy: TAKEOVER_TEST,
    test: 'it rests for as long as it is told, longer after each, without a worker, and uses up no attempt by that',
    breaks: 'A workflow rests after crashes as its definition says.',
  },
  'parts-of-answers-are-dropped': {
    file: 'libs/author/sdk/src/fragments.ts',
    edits: [['{ ...first, parts: { ...parts, spans: fragments.length } }', 'first']],
    caughtBy: 'libs/testkit/src/answer-parts.test.ts',
    test: 'go back in their place, are in the log once, and are rebuilt byte for byte',
    breaks: 'What a provider wants back with its answer goes back to it.',
  },
  'parts-go-to-any-provider': {
    file: 'libs/model/core/src/context/assemble.ts',
    edits: [['(provider) => provider === null || provider === input.provider', '() => true']],
    caughtBy: 'libs/testkit/src/answer-parts.test.ts',
    test: 'go to no other provider, and the digest says so: another.chat, test',
    breaks: 'What one provider signed goes to no other.',
  },
  'parts-are-stored-twice': {
    file: 'libs/engine/runtime/src/history/context-shapes.ts',
    edits: [['return [text, asObject(parts).text]', 'return [text]']],
    caughtBy: 'libs/testkit/src/answer-parts.test.ts',
    test: 'go back in their place, are in the log once, and are rebuilt byte for byte',
    breaks: 'The parts of an answer are in the log once.',
  },
  'answers-are-trimmed-in-part': {
    file: 'libs/model/core/src/context/choice.ts',
    edits: [['const unit = whole && known.get(whole);', 'const unit = whole && known.get(one);']],
    caughtBy: 'libs/model/core/src/context/assemble.properties.test.ts',
    test: 'an answer with parts is there whole, in its order, or not at all; of another provider, without its parts',
    breaks: 'A call is never sent without the reasoning that its provider wants with it.',
  },
  'masked-parts-are-sent': {
    file: 'libs/engine/runtime/src/encryption/guarded-definition.ts',
    edits: [['=== given?.parts?.text) return', '=== stored.parts?.text) return']],
    caughtBy: 'libs/testkit/src/answer-parts.test.ts',
    test: 'are dropped where a mask of secrets changed them, as one signed by nobody',
    breaks: 'What a mask has changed is not sent as what a provider signed.',
  },
  'changed-answers-are-unguarded': {
    file: 'libs/engine/runtime/src/encryption/guarded-definition.ts',
    edits: [['storing(answerRecorded(sendable(prompt)), recorded)', 'answerRecorded(sendable(prompt))']],
    caughtBy: 'libs/author/ai/src/in-step.test.ts',
    test: 'of an answer is masked all the same',
    breaks: 'A secret in an answer is masked, whichever way the model was asked.',
  },
  'masked-prompts-are-sent-again': {
    file: 'libs/engine/runtime/src/encryption/guarded-definition.ts',
    edits: [['if (!holdsMark(recorded)) return recorded;', 'if (recorded !== null) return recorded;']],
    caughtBy: 'libs/author/ai/src/in-step.test.ts',
    test: 'of a prompt asks a person, since the mark would be sent in its place',
    breaks: 'A retry sends what was sent before, or a person is asked.',
  },
  'presets-are-unguarded': {
    file: 'libs/engine/runtime/src/encryption/guarded-definition.ts',
    edits: [
      ['const { kind, name, ...asked } = wait;', 'const { kind, name, preset, ...asked } = wait;'],
      ['{ kind, name, ...stored }', '{ kind, name, preset, ...stored }'],
    ],
    caughtBy: 'libs/testkit/src/secret-policy.test.ts',
    test: 'in approval',
    breaks: 'A secret in what a person is asked is not stored, wherever the question has it.',
  },
  'signatures-are-made-storable': {
    file: 'libs/author/ai/src/sound-text.ts',
    edits: [["name === 'providerMetadata' ? each : sound(each)", 'sound(each)']],
    caughtBy: 'libs/author/ai/src/recorded-answer.test.ts',
    test: 'whole and streamed alike: text, inputs, details',
    breaks: 'What a provider signed is kept as it came.',
  },
  'signatures-are-shown': {
    file: 'libs/operate/api/src/shapes/opaque.ts',
    edits: [["name === 'providerMetadata' || name === 'providerOptions'", "name === 'none'"]],
    caughtBy: 'libs/operate/api/src/shapes/history.test.ts',
    breaks: 'What only a provider reads is shown by its size alone.',
  },
};
