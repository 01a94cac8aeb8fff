/** Owns the mutations of effects: intentions, outcomes, recovery and undo. */

import type { Mutations } from './mutation.ts';

const EFFECT_JOURNAL_TEST = 'libs/engine/runtime/src/effects/effect-journal.test.ts';
const EFFECT_JOURNAL = 'libs/engine/runtime/src/effects/effect-journal.ts';
const JOURNALED_CALL = 'libs/engine/runtime/src/effects/journaled-call.ts';
const EFFECT_RECOVERY = 'libs/engine/runtime/src/effects/effect-recovery.ts';
const UNDO_TEST = 'libs/engine/runtime/src/sagas/undo.test.ts';
const COMPENSATED = 'libs/engine/runtime/src/sagas/compensated-checkpoints.ts';
const COMPENSATED_TEST = 'libs/engine/runtime/src/sagas/compensated-checkpoints.test.ts';
const UNDONE_THINGS = 'libs/engine/runtime/src/sagas/compensation-items.ts';

const EFFECT_USES = 'libs/engine/runtime/src/effects/effect-uses.ts';
const EFFECT_USES_TEST = 'libs/engine/runtime/src/effects/effect-uses.test.ts';
const OVERLAPPING_TEST = 'libs/testkit/src/overlapping-calls.test.ts';
const CHANGED_TEST = 'libs/testkit/src/changed-requests.test.ts';

const ATTEMPT_FAILURE = 'libs/engine/runtime/src/lease/attempt-failure.ts';
const ATTEMPT_FAILURE_TEST = 'libs/engine/runtime/src/lease/attempt-failure.test.ts';
const TAKEOVER_TEST = 'libs/engine/runtime/src/run/takeover.test.ts';
const RESET_TEST = 'libs/testkit/src/reset.test.ts';
const PATIENCE_TEST = 'libs/testkit/src/patience.test.ts';
const REQUEST_KEY_TEST = 'libs/author/effects/src/request-key.test.ts';
const RETRY_AFTER = 'libs/model/core/src/retry-after.ts';
const RETRY_AFTER_TEST = 'libs/model/core/src/retry-after.test.ts';
const RETRY = 'libs/engine/runtime/src/kernel/retry.ts';
const RETRY_TEST = 'libs/engine/runtime/src/kernel/retry.test.ts';

export const EFFECTS_MUTATIONS: Mutations = {
  'reset-calls-again': {
    file: 'libs/engine/runtime/src/effects/kept-effect.ts',
    edits: [['if (found === undefined || mayRepeat(effect, found)) return undefined;', 'return undefined;']],
    caughtBy: RESET_TEST,
    test: 'what was done is kept, and the old history stays',
    breaks: 'A reset that keeps what was done makes no recorded call again.',
  },
  'reset-of-a-reset-forgets': {
    file: 'libs/engine/runtime/src/worker/leased-reads.ts',
    edits: [["before: fork.effects === 'replay' ?", "before: fork.effects !== 'live' ?"]],
    caughtBy: RESET_TEST,
    test: 'keeps, when it is reset again, what the first reset had not come to',
    breaks: 'What a reset had not come to is kept by the next one.',
  },
  'discarded-outcome-answers': {
    file: 'libs/engine/runtime/src/history/replay.ts',
    edits: [["row.status !== 'failed' && !this.#discarded.has(row.key)", "row.status !== 'failed'"]],
    caughtBy: RESET_TEST,
    test: 'makes a call again whose outcome is discarded, under a new key or the same',
    breaks: 'An outcome that was discarded answers nothing.',
  },
  'reset-undoes-everything': {
    file: UNDONE_THINGS,
    edits: [['(after === undefined || isAfter(item, after))', '(after === undefined || isAfter(item, after) || true)']],
    caughtBy: RESET_TEST,
    test: 'is undone from the checkpoint on before it begins again',
    breaks: 'A reset undoes what came after its checkpoint, and nothing before.',
  },
  'undo-repeats-what-it-left': {
    file: 'libs/engine/runtime/src/worker/leased-reads.ts',
    edits: [["fork.effects === 'live' && origin.reset === undefined", "fork.effects === 'live'"]],
    caughtBy: RESET_TEST,
    test: 'whoever undid it, and also when it is reset again',
    breaks: 'What has no compensation is not called again after an undo without a person.',
  },
  'same-key-is-lost': {
    file: 'libs/engine/runtime/src/history/replay.ts',
    edits: [['(await (await this.#earlier())?.sends(asked))', 'undefined']],
    caughtBy: RESET_TEST,
    test: 'before it has made it, and not at all after an undo',
    breaks: 'A call keeps the key that one reset chose through the next.',
  },
  'reset-ends-what-it-cannot-begin': {
    file: 'libs/engine/runtime/src/forks/reset.ts',
    edits: [['starter.checkFits(nextRequest(row, next, { lamport: row.lamport, ...opening }));', '']],
    caughtBy: RESET_TEST,
    test: 'goes on where the next run would begin with more than fits',
    breaks: 'A history is not ended for a run that can not begin.',
  },
  'form-without-defaults': {
    file: 'libs/engine/runtime/src/inbox/approvals.ts',
    edits: [['useDefaults: true', 'useDefaults: false']],
    caughtBy: 'libs/testkit/src/approvals.test.ts',
    test: 'unless somebody was first',
    breaks: "What an answer leaves out is the form's default.",
  },
  'no-patience': {
    file: ATTEMPT_FAILURE,
    edits: [['patienceMs > 0 || wait !== undefined', 'false']],
    caughtBy: TAKEOVER_TEST,
    test: 'is away holds all its tasks by one probe, and none is charged with it',
    breaks: 'A fault that passes by itself is waited out, also by a probe at a take-over.',
  },
  'passing-faults-use-up-attempts': {
    file: ATTEMPT_FAILURE,
    edits: [['failureCount - passingCount + 1', 'failureCount + 1 + 0 * passingCount']],
    caughtBy: PATIENCE_TEST,
    test: 'uses up none of its attempts',
    failsWith: 'waits for a person',
    breaks: 'A fault that passes by itself uses up no attempt.',
  },
  'final-statuses-are-tried-again': {
    file: 'libs/engine/runtime/src/definition/faults.ts',
    edits: [["fault(isJudged ? 'open' : 'final')", "fault('open')"]],
    caughtBy: PATIENCE_TEST,
    test: 'credit, status 400: 1 attempts, as it is final',
    breaks: 'What is refused for good is not asked again.',
  },
  'final-though-it-says-when': {
    file: 'libs/engine/runtime/src/definition/faults.ts',
    edits: [['(isAsked && FINAL_STATUSES.has(status))', 'false']],
    caughtBy: 'libs/engine/runtime/src/definition/faults.test.ts',
    breaks: 'Whoever refuses and says when to come back has not refused for good.',
  },
  'waits-without-a-pause': {
    file: RETRY,
    edits: [['Math.max(least, retryDelayMs(', 'Math.max(0 * least, retryDelayMs(']],
    caughtBy: ATTEMPT_FAILURE_TEST,
    test: 'is never waited out in a hot loop, whatever the policy',
    breaks: 'No policy has a fault that passes waited out without a pause.',
  },
  'waits-for-longer-than-the-patience': {
    file: ATTEMPT_FAILURE,
    edits: [['(askedMsOf(task, error, fault) ?? 0) <= patienceMs', 'true']],
    caughtBy: ATTEMPT_FAILURE_TEST,
    test: 'is asked about at once where the receiver asks for longer than the patience',
    breaks: 'Nobody is waited for who asks for longer than the patience.',
  },
  'waits-before-it-asks-a-person': {
    file: ATTEMPT_FAILURE,
    edits: [['error instanceof EffectError && !error.hasProbe && task', 'policyOf === undefined && task']],
    caughtBy: ATTEMPT_FAILURE_TEST,
    test: 'of an irreversible call that nothing can ask about does not delay the question',
    breaks: 'A question that only a person can answer is asked without a wait.',
  },
  'last-attempt-is-not-foretold': {
    file: ATTEMPT_FAILURE,
    edits: [['!isFinal && !isPoison && ', '!isFinal && ']],
    caughtBy: ATTEMPT_FAILURE_TEST,
    test: 'whoever asks beforehand is told that the twentieth equal failure is the last',
    breaks: 'A step that asks whether it is tried again is told what happens.',
  },
  'agents-come-back-in-buckets': {
    file: ATTEMPT_FAILURE,
    edits: [['Buffer.from(prng.bytes(4)).readUInt32BE() / 2 ** 32', 'prng.bytes(1)[0]! / 256']],
    caughtBy: ATTEMPT_FAILURE_TEST,
    test: 'delays take more values than there are agents',
    breaks: 'A thousand agents that failed together come back at a thousand moments.',
  },
  'every-503-cost-nothing': {
    file: 'libs/author/ai/src/provider-error.ts',
    edits: [['if (status === UNAVAILABLE) return', 'if (status === UNAVAILABLE) return true ||']],
    caughtBy: 'libs/author/ai/src/model.test.ts',
    test: 'with a plain 503 may have done it, and been paid',
    breaks: 'What a call that ended with a 503 cost is unknown unless the provider says that it is overloaded.',
  },
  'a-failure-in-a-body-is-a-refusal': {
    file: 'libs/author/ai/src/provider-error.ts',
    edits: [[' && !FAILED_REASON.test(reason)', '']],
    caughtBy: 'test/providers/faults.test.ts',
    test: 'error-in-body.openai-responses.whole',
    breaks: 'A provider that failed is asked again, also where its SDK calls it a refusal.',
  },
  'an-error-event-is-a-broken-answer': {
    file: 'libs/author/ai/src/provider-error.ts',
    edits: [['if (facts.isSaid && isNothing(received))', 'if (isNothing(received) && facts.name === "")']],
    caughtBy: 'test/providers/faults.test.ts',
    test: 'error-in-body.bedrock.streamed',
    breaks: 'An error that a stream begins with means what it means as a status.',
  },
  'a-wait-in-a-body-is-not-read': {
    file: 'libs/author/ai/src/provider-error.ts',
    edits: [['?? retryAfterMs(waitIn(said), Date.now(), false)', '']],
    caughtBy: 'test/providers/faults.test.ts',
    test: 'rate-limited-with-wait.google.whole',
    breaks: 'A provider that says in its body when to come back is not asked before.',
  },
  'a-prompt-too-long-says-nothing': {
    file: 'libs/author/ai/src/provider-error.ts',
    edits: [['status === TOO_LARGE || TOO_LONG.test(', 'status === TOO_LARGE && TOO_LONG.test(']],
    caughtBy: 'test/providers/faults.test.ts',
    test: 'context-length.anthropic.whole',
    breaks: 'A prompt that is too long for its model is said to be that, in whatever words the provider has.',
  },
  'an-error-body-is-an-empty-answer': {
    file: 'libs/author/ai/src/ask.ts',
    edits: [['content.length === 0 ? bodyError(given.response?.body) : undefined', 'undefined as Error | undefined']],
    caughtBy: 'test/providers/faults.test.ts',
    test: 'error-in-body.google.whole',
    breaks: 'An error with status 200 is told in the words of the provider, also where its SDK reads an empty answer.',
  },
  'notes-of-a-provider-are-an-answer': {
    file: 'libs/author/ai/src/answered.ts',
    edits: [[", 'custom']", ']']],
    caughtBy: 'test/providers/faults.test.ts',
    test: 'empty.anthropic.streamed',
    breaks: 'An answer with nothing but notes of the provider is empty.',
  },
  'bedrock-forgets-results': {
    file: 'libs/author/ai/src/call-options.ts',
    edits: [['toldCalls(messages) : messages', 'messages : messages']],
    caughtBy: 'test/providers/judges.test.ts',
    test: 'results that it takes only beside tools are told where the call offers none',
    breaks: 'A model sees the results of its calls, also where the call offers no tools.',
  },
  'ids-longer-than-openai-takes': {
    file: 'libs/model/core/src/context/portable-prompt.ts',
    edits: [['id.length <= ID_MAX_CHARS', 'id.length <= PORTABLE_MAX_CHARS']],
    caughtBy: 'test/providers/judges.test.ts',
    test: 'are taken by every family once they are made fit',
    breaks: 'Every provider takes the ids of tool calls that are sent.',
  },
  'a-probe-a-task': {
    file: 'libs/engine/runtime/src/run/workflow-runner.ts',
    edits: [['      await this.#waitAlike(task.id, startedAtMs);\n', '']],
    caughtBy: TAKEOVER_TEST,
    test: 'whose validator is away holds all its tasks by one probe, and none is charged with it',
    breaks: 'A probe that is away is asked once a take-over, however many tasks wait for it.',
  },
  'undo-with-a-key-too-long': {
    file: 'libs/author/sdk/src/effect.ts',
    edits: [["keyFormat === 'digest' ? { ...context", 'keyFormat === undefined ? { ...context']],
    caughtBy: REQUEST_KEY_TEST,
    test: 'digest: what undoes it fits a receiver that caps keys, too',
    breaks: 'A receiver that caps keys takes the undo as it took the call.',
  },
  'all-come-back-at-once': {
    file: RETRY,
    edits: [['asked * ASKED_SPREAD * policy.jitter * random', '0']],
    caughtBy: RETRY_TEST,
    breaks: 'Runs that a receiver told the same moment do not all come back at it.',
  },
  'no-jitter': {
    file: RETRY,
    edits: [['(1 - policy.jitter * random)', '1']],
    caughtBy: RETRY_TEST,
    breaks: 'Runs that failed together do not come back together.',
  },
  'retry-after-is-believed': {
    file: RETRY_AFTER,
    edits: [['Math.min(RETRY_AFTER_MAX_MS, Math.max(0, Math.ceil(ms)))', 'Math.ceil(ms)']],
    caughtBy: RETRY_AFTER_TEST,
    breaks: 'No header holds a run for more than a day, or sends it into the past.',
  },
  'limits-of-answers-that-met-none': {
    file: RETRY_AFTER,
    edits: [['asked !== undefined || !isLimited', 'asked !== undefined']],
    caughtBy: RETRY_AFTER_TEST,
    breaks: 'The reset of a limit is waited for only where the limit was met.',
  },
  'call-with-the-ledgers-key': {
    file: JOURNALED_CALL,
    edits: [['        key: sentKey(this),', '        key: this.key,']],
    caughtBy: REQUEST_KEY_TEST,
    breaks: 'Runs whose requests have one key send that key.',
  },
  'probe-with-the-ledgers-key': {
    file: EFFECT_RECOVERY,
    edits: [['probe(sentKey({ effect, key, request }), {', 'probe(key, {']],
    caughtBy: REQUEST_KEY_TEST,
    breaks: 'A probe asks by the key that the call sent.',
  },
  'new-call-beside-a-recorded-one': {
    file: EFFECT_USES,
    edits: [['if (same !== undefined || this.#others(use).length > 0) return undefined;', '']],
    caughtBy: EFFECT_USES_TEST,
    breaks: 'No call is made beside one that was made and that nothing asks for again.',
  },
  'changed-calls-are-exchanged': {
    file: EFFECT_USES,
    edits: [['const isOnly = isAlone && placed.length === 1;', 'const isOnly = placed.length === 1;']],
    caughtBy: CHANGED_TEST,
    test: 'that another may be taken for asks a person: besides',
    breaks: 'Of calls side by side whose requests have changed none gets what another one recorded.',
  },
  'changed-call-sends-anew': {
    file: JOURNALED_CALL,
    edits: [['this.effect = effect;\n      this.request = request;', '']],
    caughtBy: CHANGED_TEST,
    test: 'what is recorded is sent again, under its key, and counted',
    breaks: 'A model call whose request has changed sends what is recorded.',
  },
  'failed-calls-get-another-bundle': {
    file: 'libs/engine/runtime/src/effects/journaled-call.ts',
    edits: [['if (!mayBeAnswered(effect, entry)) return undefined;', 'if (entry !== null) return undefined;']],
    caughtBy: CHANGED_TEST,
    test: 'whatever was said since: rebuilt',
    breaks: 'A model call that failed in doubt is sent again as it was.',
  },
  'other-bundles-are-silent': {
    file: 'libs/engine/runtime/src/effects/journaled-call.ts',
    edits: [['if (before !== undefined && !(isRebuilt', 'if (before === null && !(isRebuilt']],
    caughtBy: CHANGED_TEST,
    test: 'whatever was said since: rebuilt otherwise',
    breaks: 'A prompt that is sent in place of the recorded one is warned of.',
  },
  'changed-effect-is-answered': {
    file: 'libs/engine/runtime/src/effects/changed-request.ts',
    edits: [['if (!hasRule(effect)) throw', 'if (effect.operation === "") throw']],
    caughtBy: CHANGED_TEST,
    test: 'asks a person at once, in words that show the field and both values',
    breaks: 'An effect whose request has changed asks a person.',
  },
  'gives-up-while-calls-run': {
    file: EFFECT_USES,
    edits: [['woken.signal.aborted || this.#callingCount > 0 ? 0', 'woken.signal.aborted ? 0']],
    caughtBy: EFFECT_USES_TEST,
    breaks: 'A call that came early waits as long as others of its step may lead to what is recorded.',
  },
  'name-is-taken-for-an-ordinal': {
    file: EFFECT_USES,
    edits: [["String(name).replace(LIKE_ORDINAL, '=$&')", 'String(name)']],
    caughtBy: EFFECT_USES_TEST,
    breaks: 'A call with a name never gets what one without recorded.',
  },
  'closures-by-arrival': {
    file: EFFECT_JOURNAL,
    edits: [['isPlaced && this.#isUnordered(inPlace)', "name === ''"]],
    caughtBy: OVERLAPPING_TEST,
    test: 'calls after something else that was awaited at once',
    breaks: 'Closures whose order the code does not give are refused.',
  },
  'body-is-not-told-apart': {
    file: EFFECT_JOURNAL,
    edits: [['      enterBody(this, way);\n', '']],
    caughtBy: OVERLAPPING_TEST,
    test: 'a closure in a closure, and one of its name after it',
    failsWith: 'waits for a person (calls-unordered)',
    breaks: 'A closure within another is not taken for one that follows it.',
  },
  'refusal-is-caught': {
    file: 'libs/engine/runtime/src/run/step-attempt.ts',
    edits: [['  CALLS_UNORDERED,\n];', '];']],
    caughtBy: OVERLAPPING_TEST,
    test: 'those, when the step catches all errors',
    breaks: 'A step that catches the refusal of its calls commits nothing.',
  },
  'placeholders-are-not-asked': {
    file: 'libs/engine/runtime/src/agent/model-calls.ts',
    edits: [['      ...(placeholders !== undefined && { placeholders: this.#digest(placeholders) }),\n', '']],
    caughtBy: OVERLAPPING_TEST,
    test: 'models that differ by a placeholder alone',
    breaks: 'Model calls that differ by a placeholder do not exchange their answers.',
  },
  'masked-requests-are-equal': {
    file: EFFECT_JOURNAL,
    edits: [['asked !== undefined && use.name === undefined && ', 'asked === null && ']],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'Effects whose requests differ in masked secrets alone do not exchange their responses.',
  },
  'replay-starts-children': {
    file: 'libs/engine/runtime/src/sagas/children.ts',
    edits: [['if (isReplaying(parent)) return this.#replay(work, parent, drawn, shared);', '']],
    caughtBy: 'libs/testkit/src/fork-acts.test.ts',
    test: 'where it replays, and starts none; with live effects it has its own',
    breaks: 'A fork that replays starts no other workflow.',
  },
  'child-of-another-question': {
    file: 'libs/engine/runtime/src/sagas/replayed-child.ts',
    edits: [['if (asked === undefined || questionOf(asked) !== questionOf(wanted))', 'if (asked === undefined)']],
    caughtBy: 'libs/testkit/src/fork-acts.test.ts',
    test: 'is told so where its base had no such child',
    breaks: 'A fork is reported of the child that was asked the same.',
  },
  'call-before-intention': {
    file: JOURNALED_CALL,
    edits: [
      [
        '    await this.#parts.flushing.write(this.#run.reserving(this.recorded.task, intended));\n',
        '    void this.#parts.flushing.write(this.#run.reserving(this.recorded.task, intended));\n',
      ],
    ],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'A call is made once its intention is durable (I4).',
  },
  'missing-validator-is-passed-over': {
    file: 'libs/engine/runtime/src/run/takeover.ts',
    edits: [['const [first] = unprobed(definition, head.effects);', 'const [first] = unprobed(definition, []);']],
    caughtBy: 'libs/engine/runtime/src/run/takeover.test.ts',
    test: 'in this build goes to a person, who lets it go on',
    breaks: 'A checkpoint whose irreversible effects nobody can be asked about goes to a person after a crash.',
  },
  'outcome-too-large-is-lost': {
    file: JOURNALED_CALL,
    edits: [['      if (error instanceof LimitError) throw await this.#tooLarge(response, error);\n', '']],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'What a call cost is recorded, and a person is asked, where its answer is too large to be.',
  },
  'outcome-is-not-awaited': {
    file: JOURNALED_CALL,
    edits: [
      ['    await this.#parts.flushing.write([resolvedDraft(', '    void this.#parts.flushing.write([resolvedDraft('],
    ],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'An outcome counts once it is durable.',
  },
  'reservation-is-left-out': {
    file: JOURNALED_CALL,
    edits: [['this.#run.reserving(this.recorded.task, intended)', '[intend]']],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'A checkpoint is reserved before the first call of its step.',
  },
  'uncertain-failure-is-certain': {
    file: JOURNALED_CALL,
    edits: [['error instanceof NotDoneError && this.#isClear', 'error instanceof NotDoneError || this.#isClear']],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'A call is recorded as not done only when that is certain.',
  },
  'others-decisions-are-overwritten': {
    file: JOURNALED_CALL,
    edits: [
      ['    if (this.#hasChanged(left)) return undefined;\n    this.#run.unvalidated', '    this.#run.unvalidated'],
    ],
    caughtBy: 'libs/engine/runtime/src/effects/effect-pending.test.ts',
    failsWith: 'own EffectPend',
    breaks: 'A confirmation that came during a probe goes before the probe.',
  },
  'failure-reported-again': {
    file: JOURNALED_CALL,
    edits: [['    if (!isUntold) return;\n', '']],
    caughtBy: 'libs/engine/runtime/src/effects/effect-pending.test.ts',
    breaks: 'A step is reported once that its receiver refused.',
  },
  'recorded-result-is-not-used': {
    file: EFFECT_JOURNAL,
    edits: [['      if (known !== undefined) return known;\n      const replayed', '      const replayed']],
    caughtBy: EFFECT_JOURNAL_TEST,
    failsWith: 'own EffectResolved would be rejected',
    breaks: 'What a step computed once is not computed again.',
  },
  'not-done-counts-at-once': {
    file: EFFECT_RECOVERY,
    edits: [["  answer === 'not-done' && probeFences === true;", "  answer === 'not-done' && probeFences !== null;"]],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'An irreversible call counts as not made only when it cannot arrive any more (E1).',
  },
  'answer-of-before-the-wait': {
    file: EFFECT_RECOVERY,
    edits: [
      ['  signal.throwIfAborted();\n  return ask(run, signal, found);', '  signal.throwIfAborted();\n  return answer;'],
    ],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'The outside is asked again once no late call can arrive.',
  },
  'call-again-is-clear': {
    file: EFFECT_RECOVERY,
    edits: [["  answer === 'not-done' && (left.silentHolders", '  answer !== null && (left.silentHolders']],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'A repeated call that fails does not prove that the first was not made.',
  },
  'silent-copy-is-clear': {
    file: EFFECT_RECOVERY,
    edits: [['(left.silentHolders === undefined || isFenced(effect, answer));', '(left !== null);']],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'A call that is refused is not over while a silent holder may make it.',
  },
  'silence-is-an-end': {
    file: EFFECT_RECOVERY,
    edits: [['  left.silentHolders !== undefined &&\n', '  left.silentHolders === null &&\n']],
    caughtBy: EFFECT_JOURNAL_TEST,
    breaks: 'What a silent holder may still call is not called beside it (E2).',
  },
  'cancelled-beside-silence': {
    file: 'libs/engine/runtime/src/run/ending.ts',
    edits: [[" && !mayStillCall({ effect, left }, 'unknown')", '']],
    caughtBy: 'libs/engine/runtime/src/run/takeover.test.ts',
    test: 'asks a person after its worker fell silent',
    breaks: 'What a silent holder may still call is not compensated before.',
  },
  'unknown-outcome-is-not-undone': {
    file: UNDONE_THINGS,
    edits: [["status === 'failed' || operation", "status !== 'done' || operation"]],
    caughtBy: UNDO_TEST,
    test: 'undoes first what nobody knows of, given what was asked',
    breaks: 'What may have happened is compensated too.',
  },
  'undo-begins-at-the-checkpoint': {
    file: UNDONE_THINGS,
    edits: [['position < below', 'position <= below']],
    caughtBy: UNDO_TEST,
    test: 'undoes hundreds of things, a page at a time',
    breaks: 'Nothing is compensated twice.',
  },
  'undo-of-the-first-page': {
    file: UNDONE_THINGS,
    edits: [['if (page.length < OUTPUTS_PAGE_COUNT) return;', 'if (page.length <= OUTPUTS_PAGE_COUNT) return;']],
    caughtBy: UNDO_TEST,
    test: 'finds all steps to undo, however many pages of them there are',
    breaks: 'All steps are compensated, however many there are.',
  },
  'compensated-in-part': {
    file: COMPENSATED,
    edits: [['own.every(', 'own.some(']],
    caughtBy: COMPENSATED_TEST,
    test: 'are compensated when all that there was to undo of each is compensated',
    breaks: 'A checkpoint of which something stays done is not called compensated.',
  },
  'compensated-before-it-is': {
    file: COMPENSATED,
    edits: [['undo.sequence - plan.sequence', 'undo.sequence']],
    caughtBy: COMPENSATED_TEST,
    test: 'other, newest first, also while the undo waits and once it has failed',
    breaks: 'A checkpoint is called compensated once its effects are undone, and not when that is planned.',
  },
};
