/** Owns the mutations of what runs when, and what it may cost: dispatch, timers, schedules, bundles and budgets. */

import type { Mutations } from './mutation.ts';

const ASSEMBLE_TEST = 'libs/model/core/src/context/assemble.test.ts';
const DISPATCHER_TEST = 'libs/engine/runtime/src/coordinator/dispatcher.test.ts';
const DISPATCHER = 'libs/engine/runtime/src/coordinator/dispatcher.ts';
const WAKES_TEST = 'libs/engine/runtime/src/inbox/wakes.test.ts';
const MODEL_BUDGETS = 'libs/engine/runtime/src/agent/model-budgets.ts';

const FAIR_SHARES_TEST = 'libs/engine/runtime/src/coordinator/fair-shares.test.ts';
const FAIR_SHARES = 'libs/engine/runtime/src/coordinator/fair-shares.ts';
const NEW_BUILDS_TEST = 'libs/engine/runtime/src/coordinator/new-builds.test.ts';

export const DISPATCH_MUTATIONS: Mutations = {
  'last-word-is-not-kept': {
    file: 'libs/model/core/src/context/choice.ts',
    edits: [['one === users[0] || ', '']],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'The last word of the user is kept before all others.',
  },
  'directives-over-the-budget': {
    file: 'libs/model/core/src/context/directives.ts',
    edits: [['if (overTokens <= 0) return tokens;', 'if (overTokens <= tokens) return tokens;']],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'Directives that do not fit the budget of a bundle are an error.',
  },
  'placeholders-of-summaries': {
    file: 'libs/model/core/src/context/directives.ts',
    edits: [
      ["const authored = fragment.type === 'task_goal' || fragment.type === 'constraint';", 'const authored = true;'],
    ],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'Placeholders are resolved in what the author of a workflow wrote, and nowhere else.',
  },
  'lanes-take-reserves': {
    file: 'libs/model/core/src/context/lanes.ts',
    edits: [['cursors[at]!.fill(room - used - reserved);', 'cursors[at]!.fill(room - used);']],
    caughtBy: 'libs/model/core/src/context/lanes.test.ts',
    breaks: 'Each lane of a bundle has its share.',
  },
  'bundle-over-its-budget': {
    file: 'libs/model/core/src/context/lanes.ts',
    edits: [['if (this.tokens + cost > limit) return;', 'if (this.tokens > limit) return;']],
    caughtBy: ASSEMBLE_TEST,
    breaks: 'A bundle stays within its budget.',
  },
  'paused-queue-is-served': {
    file: DISPATCHER,
    edits: [['waiting.filter(({ stream }) => !held.has(stream))', 'waiting.filter(({ stream }) => stream.runnable)']],
    caughtBy: DISPATCHER_TEST,
    breaks: 'A paused queue hands out no work.',
  },
  'lost-jobs-are-not-found': {
    file: DISPATCHER,
    edits: [['        else if (isSame || this.#suspects === undefined) suspected.push(stream);\n', '']],
    caughtBy: DISPATCHER_TEST,
    breaks: 'A job that the queue lost is sent again.',
  },
  'sweep-of-one-page': {
    file: DISPATCHER,
    edits: [['if (page.length < REDISPATCH_PAGE_COUNT) break;', 'if (page.length <= REDISPATCH_PAGE_COUNT) break;']],
    caughtBy: DISPATCHER_TEST,
    breaks: 'A sweep finds all that can run.',
  },
  'rate-on-every-take-over': {
    file: 'libs/engine/runtime/src/projection/stream-rows.ts',
    edits: [['dispatch?.limits === undefined || epoch === 0', 'dispatch?.limits === undefined || epoch >= 0']],
    caughtBy: DISPATCHER_TEST,
    breaks: 'A rate counts a workflow once, and no take-over of it.',
  },
  'queues-what-cannot-run': {
    file: DISPATCHER,
    edits: [
      ['      if (!stream.runnable || offset === undefined) continue;', '      if (offset === undefined) continue;'],
    ],
    caughtBy: DISPATCHER_TEST,
    breaks: 'Only what can run is queued.',
  },
  'runs-before-cost-nothing': {
    file: MODEL_BUDGETS,
    edits: [['plusSpend(state, state.spentBefore)', 'plusSpend(state, undefined)']],
    caughtBy: 'libs/engine/runtime/src/sagas/continuations.test.ts',
    breaks: 'A budget counts all runs of one workflow.',
  },
  'unpriced-model-in-money': {
    file: MODEL_BUDGETS,
    edits: [['if (call.isUnpriced && budget.costMicros !== undefined) throw unpriced(of, call);', '']],
    caughtBy: 'libs/engine/runtime/src/agent/budget-room.test.ts',
    breaks: 'A budget in money refuses a model without a price.',
  },
  'reservations-do-not-count': {
    file: MODEL_BUDGETS,
    edits: [['isOver(budget, plusSpend(settled, reserved), call.reserved)', 'isOver(budget, settled, call.reserved)']],
    caughtBy: 'libs/engine/runtime/src/agent/budget-room.test.ts',
    breaks: 'Calls under way count against a budget.',
  },
  'unknown-cost-is-free': {
    file: MODEL_BUDGETS,
    edits: [['const most = mostSpent(spent);', 'const most = spent;']],
    caughtBy: 'libs/engine/runtime/src/agent/budget-room.test.ts',
    breaks: 'What calls without an answer may have cost is held by each budget.',
  },
  'lost-call-is-free': {
    file: 'libs/model/core/src/fold-holder.ts',
    edits: [["known.status === 'intended' ? unknownSpend(known.spend)", "known.status === 'intended' ? NO_SPEND"]],
    caughtBy: 'libs/model/core/src/fold-outcomes.test.ts',
    breaks: 'A call whose caller was lost may have been paid for.',
  },
  'catch-up-is-boundless': {
    file: 'libs/engine/runtime/src/control/schedule-spec.ts',
    edits: [['const madeUp = catchUp === 0 ? [] : late.slice(-catchUp);', 'const madeUp = late.slice(-catchUp);']],
    caughtBy: 'libs/engine/runtime/src/control/schedule-spec.test.ts',
    breaks: 'A schedule without catch-up makes nothing up.',
  },
  'slot-ids-are-free': {
    file: 'libs/model/core/src/derived-ids.ts',
    edits: [["  ['slot', /@", "  ['slot', /@@"]],
    caughtBy: 'libs/model/core/src/derived-ids.test.ts',
    breaks: 'Nobody can take the id of a run that a schedule will start.',
  },
  'derived-ids-are-free': {
    file: 'libs/engine/runtime/src/lease/workflow-name.ts',
    edits: [['if (form === undefined) return storableId(id);', "if (form !== 'undo') return storableId(id);"]],
    caughtBy: 'libs/engine/runtime/src/lease/workflow-name.test.ts',
    breaks: 'A caller chooses no id that the system derives.',
  },
  'grown-partitions-fenced-twice': {
    file: 'libs/engine/runtime/src/inbox/placing.ts',
    edits: [['isAhead && waitedMs', 'false && waitedMs']],
    caughtBy: 'libs/engine/runtime/src/inbox/starter.test.ts',
    test: 'leaves the rows of partitions that another process adds to that one',
    breaks: 'One process makes the rows of partitions that were added, so openings that it has placed are accepted.',
  },
  'grown-partitions-fenced-by-a-sweep': {
    file: 'libs/engine/runtime/src/coordinator/coordinator.ts',
    edits: [['positions.size >= this.#seenCount', 'false']],
    caughtBy: 'libs/engine/runtime/src/coordinator/coordinator.test.ts',
    test: 'gives rows to partitions that the log has gained',
    breaks: 'A sweep leaves partitions that have just appeared to whoever added them.',
  },
  'taken-ids-are-silent': {
    file: 'libs/engine/runtime/src/inbox/starter.ts',
    edits: [["if (form !== undefined) telemetry.count('workflow_ids_taken_total', 1, { form });", '']],
    caughtBy: 'libs/engine/runtime/src/inbox/starter.test.ts',
    test: 'id that the system derives and that is taken all the same is counted',
    breaks: 'A derived id that is taken all the same is counted, and an alert follows.',
  },
  'child-of-another-tenant': {
    file: 'libs/engine/runtime/src/sagas/children.ts',
    edits: [['if (child.tenant !== parent.tenant) throw this.#taken(work);', '']],
    caughtBy: 'libs/engine/runtime/src/sagas/children.test.ts',
    breaks: "A parent gets no answer from another tenant's workflow.",
  },
  'skipped-slots-are-lost': {
    file: 'libs/engine/runtime/src/control/schedule-spec.ts',
    edits: [['change === undefined ? null : this.#nextSkipped(change, afterMs)', 'null']],
    caughtBy: 'libs/engine/runtime/src/control/summer-time.test.ts',
    test: "each slot of '30 2 \\* \\* \\*' comes once",
    breaks: 'Each slot that the beginning of summer time skips comes right after it.',
  },
  'repeated-slots-come-twice': {
    file: 'libs/engine/runtime/src/control/schedule-spec.ts',
    edits: [['wall = Math.max(wall, change.atMs + change.beforeMs - 1);', '']],
    caughtBy: 'libs/engine/runtime/src/control/summer-time.test.ts',
    test: "each slot of '30 2 \\* \\* \\*' comes once",
    breaks: 'A slot that the end of summer time repeats comes once.',
  },
  'day-of-a-slot-is-utc': {
    file: 'libs/engine/runtime/src/control/schedule-definition.ts',
    edits: [['dayAt(spec.timeZone, slotMs)', "dayAt('UTC', slotMs)"]],
    caughtBy: 'libs/engine/runtime/src/control/schedule-definition.test.ts',
    breaks: 'The day of a run is that of its slot where its schedule is, so no daily run is skipped as done.',
  },
  'moment-fires-again': {
    file: 'libs/engine/runtime/src/control/schedule-definition.ts',
    edits: [['if (await host.wasBegun(of, { id, tenant, beforeMs: nowMs })) return belief;', '']],
    caughtBy: 'libs/engine/runtime/src/control/schedule-definition.test.ts',
    breaks: 'A moment for which a run was begun long since begins and ends nothing.',
  },
  'timers-fire-while-rows-lag': {
    file: 'libs/engine/runtime/src/coordinator/timers.ts',
    edits: [['const fresh = due.filter((timer) => this.#reconcilers.isDue(nameOf(timer)));', 'const fresh = due;']],
    caughtBy: 'libs/engine/runtime/src/coordinator/timers.test.ts',
    breaks: 'A timer that was fired is not fired again while the rows lag.',
  },
  'timer-fires-under-another-name': {
    file: 'libs/engine/runtime/src/coordinator/timers.ts',
    edits: [['eventId(`timer:', 'eventId(Math.random() + `timer:']],
    caughtBy: 'libs/engine/runtime/src/coordinator/timers.test.ts',
    breaks: 'A timer that two coordinators fire counts once.',
  },
  'retries-on-failed-build': {
    file: 'libs/engine/runtime/src/coordinator/new-builds.ts',
    edits: [[' && !failedOn.builds.includes(build)', '']],
    caughtBy: NEW_BUILDS_TEST,
    breaks: 'A build on which a task has failed never gets it again by itself.',
  },
  'old-worker-takes-new-builds-task': {
    file: 'libs/engine/runtime/src/worker/worker.ts',
    edits: [['    if (!failedOn.builds.includes(build)) return false;\n', '    return false;\n']],
    caughtBy: NEW_BUILDS_TEST,
    failsWith: 'not within',
    breaks: 'A task that is resumed on a new build is passed on by workers of the old one.',
  },
  'forgets-failed-builds': {
    file: 'libs/model/core/src/fold-holder.ts',
    edits: [['builds: [...builds, build]', 'builds: [build]']],
    caughtBy: NEW_BUILDS_TEST,
    breaks: 'Two builds that both fail pass a task to each other for ever.',
  },
  'forgets-builds-of-task-beside': {
    file: 'libs/model/core/src/fold-holder.ts',
    edits: [['stream.failedOn?.builds ?? []', 'stream.failedOn?.task === task ? stream.failedOn.builds : []']],
    caughtBy: NEW_BUILDS_TEST,
    breaks: 'Two tasks that fail each on another build pass a workflow between the two for ever.',
  },
  'forgets-builds-of-gained-partitions': {
    file: 'libs/engine/runtime/src/coordinator/coordinator.ts',
    edits: [['    this.#newBuilds.forget();\n', '']],
    caughtBy: NEW_BUILDS_TEST,
    breaks: 'What parked in partitions of another coordinator is retried on builds that announced themselves before.',
  },
  'shares-of-a-moment': {
    file: FAIR_SHARES,
    edits: [
      ['({ most }) => most < share - slack', '({ now }) => now < share - slack'],
      ['({ least }) => least > share', '({ now }) => now > share'],
    ],
    caughtBy: FAIR_SHARES_TEST,
    breaks: 'What comes and goes by itself moves no run to another worker.',
  },
  'shares-asked-in-vain': {
    file: FAIR_SHARES,
    edits: [['Math.min(2 * before.waitMs, SHARE_WAIT_MAX_MS)', 'SHARE_PERIOD_MS']],
    caughtBy: FAIR_SHARES_TEST,
    breaks: 'A worker that takes no jobs does not have others give up their runs again and again.',
  },
  'share-is-taken-back': {
    file: 'libs/engine/runtime/src/worker/company.ts',
    edits: [['Math.min(least + 1, this.#share)', 'least + 1']],
    caughtBy: 'libs/engine/runtime/src/worker/company.test.ts',
    breaks: 'A worker that gave up runs leaves them to others.',
  },
  'share-for-ever': {
    file: 'libs/engine/runtime/src/worker/worker.ts',
    edits: [['    await this.#company.keep(Infinity);\n', '']],
    caughtBy: FAIR_SHARES_TEST,
    breaks: 'A worker that gave up runs takes new ones again.',
  },
  'share-asked-once': {
    file: 'libs/engine/runtime/src/worker/worker.ts',
    edits: [['if (this.#isKeeping || this.#stopping', 'if (this.#stopping']],
    caughtBy: FAIR_SHARES_TEST,
    breaks: 'Two coordinators that ask have a worker give up no more than one.',
  },
  'share-stops-what-runs': {
    file: 'libs/engine/runtime/src/run/workflow-runner.ts',
    edits: [['if (this.#running.size === 0) onBetween?.();', 'onBetween?.();']],
    caughtBy: FAIR_SHARES_TEST,
    breaks: 'A run is handed over between two steps, and none of its tasks waits for a long one.',
  },
  'vain-share-forgotten': {
    file: FAIR_SHARES,
    edits: [['if (before !== undefined) asked.set(kind, before);', '']],
    caughtBy: FAIR_SHARES_TEST,
    breaks: 'A worker that takes no jobs does not have others give up their runs again and again.',
  },
  'draining-worker-draws': {
    file: 'libs/engine/runtime/src/worker/worker.ts',
    edits: [['this.#stopping.signal.aborted ? undefined : this.#announced', 'this.#announced']],
    caughtBy: FAIR_SHARES_TEST,
    breaks: 'No run is moved to a worker that drains.',
  },
  'opened-where-placed': {
    file: 'libs/engine/runtime/src/worker/claimable.ts',
    edits: [
      [
        'place?.partition !== job.partition || partition === undefined',
        'place === undefined || partition === undefined',
      ],
    ],
    caughtBy: 'libs/engine/runtime/src/worker/claimable.test.ts',
    breaks: 'A workflow that was opened in two partitions is claimed where it is placed.',
  },
  'fork-begins-at-once': {
    file: 'libs/engine/runtime/src/projection/stream-rows.ts',
    edits: [
      [
        "fork }: Pick<StreamState, 'fork'>): boolean => fork === undefined;",
        "fork: _ }: Pick<StreamState, 'fork'>): boolean => true;",
      ],
    ],
    caughtBy: DISPATCHER_TEST,
    breaks: 'A fork begins once rows show it, by which its secrets are found.',
  },
  'woken-once-rows-show-it': {
    file: 'libs/engine/runtime/src/inbox/workflow-inbox.ts',
    edits: [['woken !== undefined && this.#send', 'woken === undefined && this.#send']],
    caughtBy: WAKES_TEST,
    breaks: 'A run that is woken resumes before rows show what woke it.',
  },
  'woken-by-stale-rows-only': {
    file: 'libs/engine/runtime/src/inbox/workflow-inbox.ts',
    edits: [['    if (isWokenByWriter(type) && !isSent) this.#send(state, row.partition, next);\n', '']],
    caughtBy: WAKES_TEST,
    breaks: 'A run that fell asleep before rows showed it resumes when it is woken, and not at the next sweep.',
  },
  'woken-twice': {
    file: DISPATCHER,
    edits: [
      [': newest?.position === stream.position && isWokenByWriter', ': newest?.position === -1 && isWokenByWriter'],
    ],
    caughtBy: DISPATCHER_TEST,
    breaks: 'The job of a woken run is sent once, by whoever woke it.',
  },
  'head-behind-the-claim': {
    file: 'libs/engine/runtime/src/worker/leased-reads.ts',
    edits: [['(stream.next - 1) as Offset', 'stream.next']],
    caughtBy: 'libs/engine/runtime/src/worker/leased-reads.test.ts',
    breaks: 'A holder that takes over after a crash does not wait for rows of its own claim.',
  },
  'woken-before-what-happened-since': {
    file: DISPATCHER,
    edits: [[': newest?.position === stream.position && ', ': newest !== undefined && ']],
    caughtBy: DISPATCHER_TEST,
    breaks: 'What became runnable after it was woken gets a job.',
  },
  'forgotten-before-rows': {
    file: 'libs/engine/runtime/src/client/forgetting.ts',
    edits: [['  await memory.caughtUp();\n', '']],
    caughtBy: 'libs/engine/runtime/src/client/forgetting.test.ts',
    breaks: 'Nobody is forgotten while a workflow of theirs is open, whether rows show it or not.',
  },
};
