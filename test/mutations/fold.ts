/** Owns the mutations of the fold: what a stream accepts, and what follows from it. */

import type { Mutations } from './mutation.ts';

const CONTINUING_TEST = 'libs/model/core/src/continuing.test.ts';
const CONTINUING = 'libs/model/core/src/continuing.ts';
const FOLD_HOLDER = 'libs/model/core/src/fold-holder.ts';
const FOLD_INBOX = 'libs/model/core/src/fold-inbox.ts';
const COMPANY_TEST = 'libs/engine/runtime/src/worker/company.test.ts';
const FOLD_OUTCOMES_TEST = 'libs/model/core/src/fold-outcomes.test.ts';
const FOLD_TEST = 'libs/model/core/src/fold.test.ts';
const FOLD = 'libs/model/core/src/fold.ts';
const TRANSCRIPTS_TEST = 'libs/model/core/src/transcripts.test.ts';
const TIMELINE = 'libs/model/core/src/timeline/timeline.ts';
const TIMELINE_TEST = 'libs/model/core/src/timeline/transcripts.test.ts';
const FRONTIER_TEST = 'libs/model/core/src/frontier.test.ts';
const FRONTIER = 'libs/model/core/src/frontier.ts';
const RECOVERY_TEST = 'libs/model/core/src/recovery.test.ts';
const RECOVERY = 'libs/model/core/src/recovery.ts';

export const FOLD_MUTATIONS: Mutations = {
  'dropped-signal-lost': {
    file: FOLD_HOLDER,
    edits: [["if (cause?.kind === 'signal') freed", "if (cause?.kind === 'timer') freed"]],
    caughtBy: TRANSCRIPTS_TEST,
    test: 'dropping.txt',
    breaks: 'A signal that a dropped task was given goes to who waits for it next.',
  },
  'dropped-after-a-call': {
    file: FRONTIER,
    edits: [['effects.length === 0 && !when.some', 'effects.length < 9 && !when.some']],
    caughtBy: TRANSCRIPTS_TEST,
    test: 'dropping.txt',
    breaks: 'A task that has called something is not dropped.',
  },
  'reset-during-a-call': {
    file: CONTINUING,
    edits: [['effects.some(mayStillAct)) !== undefined', 'effects.some(mayStillAct)) === null']],
    caughtBy: CONTINUING_TEST,
    breaks: 'A workflow is not reset while a call of it may still act.',
  },
  'amended-while-it-is-read': {
    file: FOLD_INBOX,
    edits: [["lease !== null || status === 'compensating' ? undefined", "status === 'compensating' ? undefined"]],
    caughtBy: CONTINUING_TEST,
    breaks: 'A signal that a step may be reading is neither amended nor discarded.',
  },
  'discarded-signal-takes-the-place': {
    file: FOLD_INBOX,
    edits: [
      ['  return { ...stream, ...matchSignals(frontier, signals) };', '  return { ...stream, frontier, signals };'],
    ],
    caughtBy: CONTINUING_TEST,
    breaks: 'A task whose signal was discarded gets the next one that came.',
  },
  'passing-fault-in-the-row': {
    file: FOLD_HOLDER,
    edits: [['  if (outage !== undefined) return {', '  if (code === undefined) return {']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A fault that passes by itself makes no row of equal failures longer or shorter.',
  },
  'outage-never-ends': {
    file: FRONTIER,
    edits: [["effect.status === 'done' && task.outage !== undefined", 'false']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A call that is done ends the outage that the task waited for.',
  },
  'later-rules-are-folded': {
    file: FOLD,
    edits: [[' && control.rules <= RULES_READABLE.max', '']],
    caughtBy: FOLD_TEST,
    breaks: 'A stream of rules that this release does not know stops here.',
  },
  'state-of-any-version': {
    file: 'libs/model/core/src/serialise.ts',
    edits: [['if (!isReadableState(stateVersion)) {', 'if (stateVersion === undefined) {']],
    caughtBy: 'libs/model/core/src/serialise.test.ts',
    breaks: 'A stored state of another version is taken for nothing else.',
  },
  'state-in-order-of-memory': {
    file: 'libs/model/core/src/serialise.ts',
    edits: [['JSON.stringify(withLater(declared, stream))', 'JSON.stringify({ ...stream, frontier: undefined })']],
    caughtBy: 'libs/model/core/src/serialise.test.ts',
    test: 'whatever order the fold set its members in',
    breaks: 'I5: rows that are made twice are the same bytes.',
  },
  'digest-of-undefined': {
    file: 'libs/model/core/src/canonical.ts',
    edits: [['    .filter((key) => members[key] !== undefined)\n', '']],
    caughtBy: 'libs/model/core/src/canonical.test.ts',
    breaks: 'A value and what is read back of it have one digest.',
  },
  'answer-to-an-earlier-question': {
    file: FOLD_INBOX,
    edits: [
      [
        "if (question === null || question.id !== control.question) return 'not-asked';",
        "if (question === null) return 'not-asked';",
      ],
    ],
    caughtBy: FOLD_TEST,
    breaks: 'An answer is for the question that it names, and for no later one.',
  },
  'signals-without-end': {
    file: FOLD_INBOX,
    edits: [['sizeBytes) > SIGNALS_MAX_BYTES;', 'sizeBytes) < 0;']],
    caughtBy: FOLD_TEST,
    breaks: 'Signals that wait fit into the memory of whoever claims the workflow.',
  },
  'unread-signals-are-silent': {
    file: FOLD_HOLDER,
    edits: [['leftOf(stream).length > 0 ? SIGNALS_UNREAD : stream.reason', 'stream.reason']],
    caughtBy: CONTINUING_TEST,
    breaks: 'Whoever sent a signal can learn that the workflow ended without it.',
  },
  'done-drops-effects': {
    file: 'libs/engine/runtime/src/run/commit.ts',
    edits: [['  refuseDropping(dropped, step);', '']],
    caughtBy: 'libs/engine/runtime/src/run/commit.test.ts',
    breaks: 'No workflow ends while a pending task has called something that no checkpoint holds.',
  },
  'delta-keeps-deletions': {
    file: 'libs/model/core/src/belief.ts',
    edits: [['for (const key of delta.x ?? []) delete result[key];', '']],
    caughtBy: 'libs/model/core/src/belief.test.ts',
    breaks: 'Belief after a restart is what it was before.',
  },
  'snapshot-never-due': {
    file: 'libs/model/core/src/belief.ts',
    edits: [
      [
        'deltaBytesSinceSnapshot > Math.max(SNAPSHOT_MIN_BYTES, snapshotBytes)',
        'deltaBytesSinceSnapshot > SNAPSHOT_MIN_BYTES + snapshotBytes + deltaBytesSinceSnapshot',
      ],
    ],
    caughtBy: 'libs/model/core/src/belief.test.ts',
    breaks: 'What a claim reads is bounded by the size of belief.',
  },
  'cancelled-continues': {
    file: CONTINUING,
    edits: [["stream.ruling === 'cancel' || as !==", 'as !==']],
    caughtBy: CONTINUING_TEST,
    breaks: 'A cancelled workflow does not continue as another (C1).',
  },
  'continuation-forgets-the-spend': {
    file: CONTINUING,
    edits: [['plusSpend(stream, stream.spentBefore)', 'plusSpend(stream, undefined)']],
    caughtBy: CONTINUING_TEST,
    breaks: 'A budget counts all runs of one workflow.',
  },
  'dropped-signals-are-lost': {
    file: CONTINUING,
    edits: [['return [...dropped, ...signals];', 'return signals;']],
    caughtBy: CONTINUING_TEST,
    breaks: 'Signals that nobody has looked at go to the next run (C2).',
  },
  'answers-of-the-tail-are-lost': {
    file: 'libs/engine/runtime/src/history/content.ts',
    edits: [["      case 'ApprovalGiven':\n      case 'ChildClosed':\n", '']],
    caughtBy: 'libs/engine/runtime/src/history/content.test.ts',
    breaks: 'A task gets what a person or a child answered, also when rows did not have it yet.',
  },
  'claim-while-held': {
    file: FOLD_HOLDER,
    edits: [["  if (stream.lease !== null) return 'wrong-holder';\n  if (epoch !==", '  if (epoch !==']],
    caughtBy: FOLD_TEST,
    breaks: 'A lease is claimed only while nobody holds it.',
  },
  'claim-of-paused': {
    file: FOLD_HOLDER,
    edits: [["stream.status !== 'open' || stream.paused !== undefined", "stream.status !== 'open'"]],
    caughtBy: 'libs/model/core/src/lifecycle.test.ts',
    breaks: 'A paused workflow is claimed by nobody.',
  },
  'commit-with-open-call': {
    file: FOLD_HOLDER,
    edits: [["if (task.effects.some(isOpen)) return 'not-intended';", '']],
    caughtBy: FOLD_TEST,
    breaks: 'A step whose call is undecided does not count as done.',
  },
  'stale-version-commits': {
    file: FOLD_HOLDER,
    edits: [["if (isStale(stream, control.stepVersion)) return 'stale-version';", '']],
    caughtBy: FOLD_TEST,
    breaks: 'A step of an older version than its workflow has reached does not commit.',
  },
  'commit-keeps-crashes': {
    file: FOLD_HOLDER,
    edits: [['...unsuspected(stream),\n    head:', '...stream,\n    head:']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A checkpoint proves that the workflow moves, and clears its crashes.',
  },
  'intend-what-is-done': {
    file: FOLD_HOLDER,
    edits: [
      [
        "if (known?.status === 'done' || known?.status === 'pending') return 'duplicate';",
        "if (known?.status === 'pending') return 'duplicate';",
      ],
    ],
    caughtBy: FOLD_TEST,
    breaks: 'A call that is recorded as done is never made again.',
  },
  'resolve-without-intention': {
    file: FOLD_HOLDER,
    edits: [["if (!pure && (known === undefined || !isOpen(known))) return 'not-intended';", '']],
    caughtBy: FOLD_TEST,
    breaks: 'An outcome counts only for a call that was intended.',
  },
  'pending-deadline-moves': {
    file: FOLD_HOLDER,
    edits: [['const begun = known.pending ?? { id, deadline };', 'const begun = { id, deadline };']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A confirmation is overdue when the first wait said, however often it is probed.',
  },
  'wasted-spend-is-lost': {
    file: FOLD_HOLDER,
    edits: [['return { wasted: plusSpend(known.wasted ?? NO_SPEND, lost) };', 'return { wasted: lost };']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'What failed calls have cost is added up.',
  },
  'revoke-counts-no-crash': {
    file: FOLD_INBOX,
    edits: [
      [
        "  return reason === 'holder-dead' ? suspected",
        "  if (reason !== 'asked') return revoked;\n  return reason === 'holder-dead' ? suspected",
      ],
    ],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A task that kills its holders is handed to a person.',
  },
  'neighbours-are-guilty': {
    file: FOLD_INBOX,
    edits: [['return beside === 0 ? crashed(suspect, atMs) : suspect;', 'return crashed(suspect, atMs);']],
    caughtBy: COMPANY_TEST,
    test: 'parked, and no neighbour is, though none gets on between two deaths',
    breaks: 'No workflow is handed to a person because another one killed the worker of both.',
  },
  'waiting-dies-alone': {
    file: FOLD_INBOX,
    edits: [["  if (typeof besideMax === 'number' && beside > besideMax) return stream;\n", '']],
    caughtBy: 'libs/model/core/src/transcripts.test.ts',
    breaks: 'A workflow that was still waiting for room is not suspected of a death.',
  },
  'outcomes-are-no-progress': {
    file: FOLD_HOLDER,
    edits: [[" || control.outcome !== 'done' ? outcome : unsuspected(outcome);", ' ? outcome : outcome;']],
    caughtBy: COMPANY_TEST,
    test: 'every few seconds of something else finishes a step of many calls',
    breaks: 'A workflow that gets on between the deaths of its workers goes on.',
  },
  'revoke-trusts-effects': {
    file: FOLD_INBOX,
    edits: [['lease: null, isUnsettled: true, frontier };', 'lease: null, isUnsettled: true };']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'What a dead holder recorded as done is checked outside.',
  },
  'revoke-without-a-word-is-gone': {
    file: FOLD_INBOX,
    edits: [['reason, isGone = false, beside', 'reason, isGone = true, beside']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A holder of which nobody said that it is gone fell silent.',
  },
  'heir-forgets-the-silent': {
    file: 'libs/model/core/src/fold-holder.ts',
    edits: [
      ["...(known?.status === 'intended' && known.silentHolders &&", '...(known?.isSuspect && known.silentHolders &&'],
    ],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A call that an heir intends too may still be made by the silent holder.',
  },
  'last-silent-replaces-the-first': {
    file: FOLD_INBOX,
    edits: [['silentHolders: [...silentHolders, holder]', 'silentHolders: [holder]']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'A person is told of every silent holder that may still make a call.',
  },
  'inbox-forgets-the-newest': {
    file: FOLD_INBOX,
    edits: [['[...inbox.slice(1), id]', '[...inbox.slice(1)]']],
    caughtBy: FOLD_TEST,
    breaks: 'A repeated signal is taken once.',
  },
  'confirm-while-compensating': {
    file: FOLD_INBOX,
    edits: [["  if (stream.status === 'compensating') return 'not-asked';\n  const { token", '  const { token']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'An outcome that comes after the undo began is refused, since it would not be compensated.',
  },
  'vital-child-fails-unnoticed': {
    file: FOLD_INBOX,
    edits: [
      [
        "if (outcome === 'completed' || waited.isVital !== true) return reported;",
        "if (outcome === 'completed' || waited.isVital === true) return reported;",
      ],
    ],
    caughtBy: 'libs/testkit/src/children.test.ts',
    test: 'goes on with what the child ended with',
    failsWith: 'child-failed',
    breaks: 'A child that fails cancels its parent where it is vital, and only there.',
  },
  'done-becomes-undone': {
    file: FOLD_INBOX,
    edits: [
      ["(isOpen(effect) || (isDone && effect.status === 'done'))", "(isOpen(effect) || effect.status === 'done')"],
    ],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'What is recorded as done never becomes open again.',
  },
  'budget-raise-replaces': {
    file: FOLD_INBOX,
    edits: [['plusSpend(stream.raised ?? NO_SPEND, { tokens, costMicros })', '{ tokens, costMicros }']],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'Raises of a budget add up.',
  },
  'closed-accepts-events': {
    file: FOLD,
    edits: [["  if (isClosed(stream)) return 'closed';\n  switch", '  switch']],
    caughtBy: FOLD_TEST,
    breaks: 'A workflow that has ended accepts nothing more.',
  },
  'live-workflow-is-replaced': {
    file: FOLD,
    edits: [
      ['(known.generation === envelope.generation || !isClosed(known))', 'known.generation === envelope.generation'],
    ],
    caughtBy: FOLD_TEST,
    breaks: 'A second opening never replaces a live workflow.',
  },
  'opening-of-an-old-generation': {
    file: FOLD,
    edits: [
      [
        'envelope.generation !== state.generation + 1 || control.partition',
        'envelope.generation <= state.generation || control.partition',
      ],
    ],
    caughtBy: FOLD_TEST,
    breaks: 'Openings of one partition follow each other without a gap.',
  },
  'unreadable-stops-nothing': {
    file: FOLD,
    edits: [['  if (stream.unreadable !== null) return undefined;\n', '']],
    caughtBy: FOLD_TEST,
    breaks: 'A stream that holds an unreadable event is not folded past it.',
  },
  'plain-payload-is-taken': {
    file: FOLD,
    edits: [["seal === 'plain' && before.sealed === true ? 'sealed-wrong' : undefined", 'undefined']],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'After its first sealed event a stream takes no plain payload.',
  },
  'plain-judgement-counts': {
    file: FOLD,
    edits: [
      ["offset !== unreadable.offset || (stream.sealed === true && seal !== 'sealed')", 'offset !== unreadable.offset'],
    ],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'Nobody without keys goes over a record that cannot be read.',
  },
  'forgotten-judgement-counts': {
    file: 'libs/model/codec/src/record.ts',
    edits: [["withSeal(entry, 'forgotten', false)", "withSeal(entry, 'sealed', false)"]],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'A seal whose key was destroyed proves nothing.',
  },
  'odd-seal-stops-all': {
    file: 'libs/model/codec/src/record.ts',
    edits: [["  if (isUnopened && !isAsWritten(bytes)) return { ...entry, payload, problem: 'sealed-wrong' };\n", '']],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'A record that only looks sealed stops its own workflow alone.',
  },
  'payload-is-unbounded': {
    file: 'libs/model/codec/src/record.ts',
    edits: [['const problem = isUnopened ? undefined : overBounds(entry.payload);', 'const problem = undefined;']],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'A payload of too many values is never parsed.',
  },
  'fence-forgets-the-era': {
    file: FOLD,
    edits: [
      ['const generation = nextEra(state.generation);', 'const generation = (state.generation + 1) as Generation;'],
    ],
    caughtBy: FOLD_TEST,
    breaks: 'No opening that was under way is accepted after a fence.',
  },
  'barrier-is-ignored': {
    file: FRONTIER,
    edits: [['  task.barrierCount === 0 &&\n', '']],
    caughtBy: FRONTIER_TEST,
    breaks: 'A task after all others waits for all of them.',
  },
  'one-signal-feeds-all': {
    file: FRONTIER,
    edits: [['const [task] = waiting.splice(at, 1);', 'const task = waiting[at];']],
    caughtBy: FRONTIER_TEST,
    breaks: 'Each stored signal goes to a task of its own.',
  },
  'overdue-probes-on': {
    file: FRONTIER,
    edits: [
      [
        'return { ...effect, pending: { ...pending, probe: null, deadline: null, isDue: true } };\n  if (pending?.probe',
        'return { ...effect, pending: { ...pending, deadline: null, isDue: true } };\n  if (pending?.probe',
      ],
    ],
    caughtBy: FOLD_OUTCOMES_TEST,
    breaks: 'Once a confirmation is overdue, no timer of it is left.',
  },
  'retry-does-not-wait': {
    file: FRONTIER,
    edits: [['  task.retry === null &&\n', '']],
    caughtBy: FRONTIER_TEST,
    breaks: 'A step that failed waits for its retry.',
  },
  'clock-stands-still': {
    file: 'libs/model/core/src/lamport.ts',
    edits: [['other > seen ? other : seen', 'seen']],
    caughtBy: 'libs/model/core/src/lamport.test.ts',
    breaks: 'What a process writes is greater than all it has seen.',
  },
  'irreversible-is-called-again': {
    file: RECOVERY,
    edits: [["return kind === 'irreversible' ? undo : 'call-again';", "return 'call-again';"]],
    caughtBy: RECOVERY_TEST,
    breaks: 'An irreversible call whose outcome is unknown is never repeated.',
  },
  'phantom-counts-as-done': {
    file: RECOVERY,
    edits: [
      [
        "return kind === 'idempotent' && answer === 'none' ? 'go-on' : undo;",
        "return answer === 'none' ? 'go-on' : undo;",
      ],
    ],
    caughtBy: RECOVERY_TEST,
    breaks: 'A recorded effect that the outside does not know is not taken as done.',
  },
  'crash-window-off-by-one': {
    file: RECOVERY,
    edits: [['recentCount > attempts', 'recentCount > attempts + 1']],
    caughtBy: RECOVERY_TEST,
    breaks: 'A workflow that keeps dying within an hour is handed to a person.',
  },
  'people-see-an-event-twice': {
    file: TIMELINE,
    edits: [['    if (event.position <= this.position) return undefined;\n', '']],
    caughtBy: TIMELINE_TEST,
    breaks: 'What comes again is on the timeline once (T1).',
  },
  'call-under-way-without-a-holder': {
    file: TIMELINE,
    edits: [
      [
        "    for (const effect of this.#effects.values()) if (effect.status === 'running') effect.status = 'lost';\n",
        '',
      ],
    ],
    caughtBy: TIMELINE_TEST,
    breaks: 'A call that a lease left without an answer is not shown as under way.',
  },
  'answered-call-stays-open': {
    file: TIMELINE,
    edits: [['        this.#decided(event.control.resolution, atMs);\n', '']],
    caughtBy: TIMELINE_TEST,
    breaks: 'A call that a person answered for is shown with that outcome.',
  },
};
