/** Owns the mutations of leases and checkpoints: the leased stream, the lease keeper, takeover, and what a step commits. */

import type { Mutations } from './mutation.ts';

const COMMIT = 'libs/engine/runtime/src/run/commit.ts';
const HELD_STREAM_TEST = 'libs/engine/runtime/src/lease/leased-stream.test.ts';
const HELD_STREAM = 'libs/engine/runtime/src/lease/leased-stream.ts';
const LEASE_KEEPER_TEST = 'libs/engine/runtime/src/coordinator/lease-keeper.test.ts';
const LEASE_KEEPER = 'libs/engine/runtime/src/coordinator/lease-keeper.ts';

export const LEASE_MUTATIONS: Mutations = {
  'dead-is-gone': {
    file: LEASE_KEEPER,
    edits: [['isGone: view.isGone(holder)', 'isGone: true']],
    caughtBy: LEASE_KEEPER_TEST,
    breaks: 'A holder that fell silent is not taken for gone.',
  },
  'suspects-run-beside-all': {
    file: 'libs/engine/runtime/src/worker/company.ts',
    edits: [['const besides = this.#running.size;', 'const besides = 0;']],
    caughtBy: 'libs/engine/runtime/src/worker/company.test.ts',
    test: 'handing over the newest, and takes no more until it has made progress',
    breaks: 'A workflow that may kill its workers runs beside fewer and fewer others.',
  },
  'deaths-are-lonely': {
    file: LEASE_KEEPER,
    edits: [['const most = Math.max(count, inRows);', 'const most = Math.max(0 * count, inRows);']],
    caughtBy: LEASE_KEEPER_TEST,
    breaks:
      'Workflows that a worker had claimed count as running beside the others when it dies, also before rows have them.',
  },
  'supersedes-itself': {
    file: COMMIT,
    edits: [['supersedes >= 1 && supersedes < sequence', 'supersedes >= 1 && supersedes <= sequence']],
    caughtBy: 'libs/engine/runtime/src/run/commit.test.ts',
    breaks: 'A correction names a checkpoint that is there.',
  },
  'commit-over-open-call': {
    file: COMMIT,
    edits: [['  if (open !== undefined) {\n    throw new', '  if (open === null) {\n    throw new']],
    caughtBy: 'libs/engine/runtime/src/effects/effect-journal.test.ts',
    failsWith: 'own CheckpointCommitted would be rejected',
    breaks: 'A step does not end while the outcome of its call is open.',
  },
  'cancelled-draws-up-the-next': {
    file: COMMIT,
    edits: [[" || state.ruling === 'cancel') return undefined;", ') return undefined;']],
    caughtBy: 'libs/engine/runtime/src/run/commit.test.ts',
    breaks: 'A workflow that was cancelled meanwhile does not continue.',
  },
  'settles-before-the-log': {
    file: HELD_STREAM,
    edits: [
      [
        '.then(async () => this.#settle(batch, await appended, sentMs))',
        '.then(async () => this.#settle(batch, this.#next, sentMs))',
      ],
    ],
    caughtBy: HELD_STREAM_TEST,
    breaks: 'A write counts once the log has acknowledged it.',
  },
  'gap-is-skipped': {
    file: HELD_STREAM,
    edits: [['if (base > this.#next) await this.#foldGap(base);', 'if (base > this.#next) this.#next = base;']],
    caughtBy: HELD_STREAM_TEST,
    breaks: 'What others wrote in between is folded (H2).',
  },
  'revocation-is-ignored': {
    file: HELD_STREAM,
    edits: [["if (envelope.type === 'LeaseRevoked' && wasHeld)", "if (envelope.type === 'LeaseRevoked' && !wasHeld)"]],
    caughtBy: HELD_STREAM_TEST,
    breaks: 'A holder stops as soon as it reads that its lease was revoked.',
  },
  'too-large-stays-staged': {
    file: HELD_STREAM,
    edits: [
      ['      this.#speculative = before;\n      return Promise.reject(error);', '      return Promise.reject(error);'],
    ],
    caughtBy: HELD_STREAM_TEST,
    failsWith: 'own CheckpointCommitted would be rejected',
    breaks: 'Events that are too large leave no trace in the state of the holder.',
  },
  'clock-of-checkpoint-goes-back': {
    file: HELD_STREAM,
    edits: [['    return parent;\n  }', '    return now;\n  }']],
    caughtBy: HELD_STREAM_TEST,
    breaks: 'No checkpoint is older than its parent, whatever the clock says.',
  },
  'lagging-replica-ends-the-lease': {
    file: HELD_STREAM,
    edits: [['if (++emptyCount === GAP_EMPTY_READS_MAX) {', 'if (++emptyCount > 0) {']],
    caughtBy: HELD_STREAM_TEST,
    failsWith: "doesn't show what it acknowledged",
    breaks: 'A replica that lags costs a wait and not the lease.',
  },
  'untrusted-view-revokes': {
    file: LEASE_KEEPER,
    edits: [
      [
        '    if (!view.trusted) {\n      this.#ghosts.clear();\n      // It polls as soon',
        '    if (view.holders === undefined) {\n      this.#ghosts.clear();\n      // It polls as soon',
      ],
    ],
    caughtBy: LEASE_KEEPER_TEST,
    breaks: 'An emptied Redis revokes no lease.',
  },
  'ghosts-get-no-grace': {
    file: LEASE_KEEPER,
    edits: [
      [
        "return now - since > GHOST_GRACE_MS ? 'lease-not-listed' : undefined;",
        "return now - since >= 0 ? 'lease-not-listed' : undefined;",
      ],
    ],
    caughtBy: LEASE_KEEPER_TEST,
    breaks: 'A holder has a grace in which to list a lease that it has just claimed.',
  },
  'claims-of-the-dead-wait': {
    file: LEASE_KEEPER,
    edits: [['if (holder !== null && isWorker(holder)) this.#expected.add(holder);', '']],
    caughtBy: LEASE_KEEPER_TEST,
    breaks: 'A claim that a dead holder wrote last is found when it comes to the rows, and not a period later.',
  },
  'claims-during-a-poll-wait': {
    file: LEASE_KEEPER,
    edits: [
      ['    this.#expected = new Set();\n', ''],
      [
        'for (const holder of view.holders.keys()) this.#expected.add(holder);',
        'this.#expected = new Set(view.holders.keys());',
      ],
    ],
    caughtBy: LEASE_KEEPER_TEST,
    breaks: 'A claim of a dead holder that comes to the rows during a poll is found by the next check.',
  },
  'holders-before-leases': {
    file: LEASE_KEEPER,
    edits: [
      [
        '      const leases = await this.#ports.store.leases();\n      const view = await this.#view();',
        '      const view = await this.#view();\n      const leases = await this.#ports.store.leases();',
      ],
    ],
    caughtBy: LEASE_KEEPER_TEST,
    breaks: 'A holder that claims during a poll is not taken for dead.',
  },
  'listed-under-any-epoch': {
    file: LEASE_KEEPER,
    edits: [
      [
        'if (listed.get(lease.workflow) === lease.epoch) return undefined;',
        'if (listed.has(lease.workflow)) return undefined;',
      ],
    ],
    caughtBy: LEASE_KEEPER_TEST,
    breaks: 'A lease of an older epoch than its holder lists is a ghost.',
  },
  'result-of-the-first-run': {
    file: 'libs/engine/runtime/src/client/run.ts',
    edits: [['const summary = await this.current();', 'const summary = await this.summary();']],
    caughtBy: 'libs/testkit/src/continuing.test.ts',
    test: 'ends as the last of them, each with a history of its own',
    failsWith: 'replays another',
    breaks: 'The result of a workflow is that of its last run.',
  },
  'phantoms-are-not-sought': {
    file: 'libs/engine/runtime/src/run/takeover.ts',
    edits: [
      ['!state.isUnsettled || state.head.sequence === 0', 'state.head.sequence > 0 || state.head.sequence === 0'],
    ],
    caughtBy: 'libs/engine/runtime/src/run/takeover.test.ts',
    test: 'whose effect is there goes on',
    breaks: 'After a crash the newest checkpoint is held against the outside (D1).',
  },
  'budget-off-by-one': {
    file: 'libs/engine/runtime/src/run/takeover.ts',
    edits: [
      ['state.head.sequence - state.budgetFrom >= stepBudget', 'state.head.sequence - state.budgetFrom > stepBudget'],
    ],
    caughtBy: 'libs/engine/runtime/src/run/takeover.test.ts',
    test: 'about when the budget is used up, and goes on with as much again',
    breaks: 'A workflow commits as many checkpoints as its budget says.',
  },
};
