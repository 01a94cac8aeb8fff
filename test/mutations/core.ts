/** Owns the mutations of the pure core: fold, frontier, belief, recovery, context. */

import type { Mutation } from './mutations.ts';

export const CORE_MUTATIONS: Readonly<Record<string, Mutation>> = {
  'commit-with-open-effect': {
    file: 'libs/core/src/fold-holder.ts',
    edits: [["if (task.effects.some(isOpen)) return 'not-intended';", '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'a step counts as done only when the outcome of each of its calls is known (I4)',
  },
  'intend-what-is-done': {
    file: 'libs/core/src/fold-holder.ts',
    edits: [["if (known?.status === 'done' || known?.status === 'pending') return 'duplicate';", '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'no call is intended again once its outcome is recorded (I4)',
  },
  'resolve-what-was-not-intended': {
    file: 'libs/core/src/fold-holder.ts',
    edits: [["if (!pure && (known === undefined || !isOpen(known))) return 'not-intended';", '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'no outcome is recorded of a call that was never intended (I4)',
  },
  'claim-a-live-lease': {
    file: 'libs/core/src/fold-holder.ts',
    edits: [["if (stream.lease !== null) return 'wrong-holder';", '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'a lease is claimed only while none is live (I3)',
  },
  'crashes-outlive-a-checkpoint': {
    file: 'libs/core/src/fold-holder.ts',
    edits: [['    crashCount: 0,\n    crashTimesMs: NO_CRASHES,\n', '']],
    caughtBy: 'libs/core/src/fold-outcomes.test.ts',
    breaks: 'recovery attempts count only when no checkpoint came between (D5)',
  },
  'stale-version-commits': {
    file: 'libs/core/src/fold-holder.ts',
    edits: [["if (stream.rules >= 2 && isStale(stream, control.stepVersion)) return 'stale-version';", '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'a step of an older version does not commit once a newer one has',
  },
  'revoke-another-holder': {
    file: 'libs/core/src/fold-inbox.ts',
    edits: [["if (holder !== stream.lease.holder) return 'wrong-holder';", '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'a revocation ends the lease that it names and no other',
  },
  'inbox-remembers-nothing': {
    file: 'libs/core/src/fold-inbox.ts',
    edits: [
      [
        'inbox.length < INBOX_DEDUPE_MAX ? [...inbox, id] : [...inbox.slice(1), id]',
        'inbox.length < 0 ? [...inbox, id] : inbox',
      ],
    ],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'an inbox event that is written twice counts once',
  },
  'closed-takes-events': {
    file: 'libs/core/src/fold.ts',
    edits: [["if (isClosed(stream)) return 'closed';\n", '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'a workflow that has ended takes no further event',
  },
  'second-opening-replaces': {
    file: 'libs/core/src/fold.ts',
    edits: [
      [
        'known !== undefined && (known.generation === envelope.generation || !isClosed(known))',
        'known !== undefined && known.generation === envelope.generation && isClosed(known)',
      ],
    ],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'a second opening never replaces a live workflow',
  },
  'fold-past-the-unreadable': {
    file: 'libs/core/src/fold.ts',
    edits: [['if (stream.unreadable !== null) return undefined;', '']],
    caughtBy: 'libs/core/src/fold.test.ts',
    breaks: 'a stream stops at what this release cannot read',
  },
  'barrier-forgets-siblings': {
    file: 'libs/core/src/frontier.ts',
    edits: [['? frontier.tasks.size + added.length : 0', '? frontier.tasks.size : 0']],
    caughtBy: 'libs/core/src/frontier.test.ts',
    breaks: 'a task after all others waits for its siblings as well',
  },
  'retry-runs-at-once': {
    file: 'libs/core/src/frontier.ts',
    edits: [['  task.retry === null &&\n', '']],
    caughtBy: 'libs/runtime/src/worker.test.ts',
    breaks: 'a failed task waits until its retry is due',
  },
  'signals-newest-first': {
    file: 'libs/core/src/frontier.ts',
    edits: [
      [
        'const at = waiting.findIndex((task) => waitsForSignal(task, name));',
        'const at = waiting.findLastIndex((task) => waitsForSignal(task, name));',
      ],
    ],
    caughtBy: 'libs/core/src/frontier.test.ts',
    breaks: 'signals are matched to waiting tasks in order',
  },
  'belief-delta-loses-items': {
    file: 'libs/core/src/belief.ts',
    edits: [['if (!kept) return { v: after };', 'if (!kept && before.length > after.length) return { v: after };']],
    caughtBy: 'libs/core/src/belief.test.ts',
    breaks: 'a delta applied to the belief before it gives the belief after it',
  },
  'recovery-repeats-irreversible': {
    file: 'libs/core/src/recovery.ts',
    edits: [["return kind === 'irreversible' ? undo : 'call-again';", "return 'call-again';"]],
    caughtBy: 'libs/core/src/recovery.test.ts',
    breaks: 'an irreversible call in doubt is never made again without a person',
  },
  'recovery-counts-for-ever': {
    file: 'libs/core/src/recovery.ts',
    edits: [['last - atMs <= RECOVERY_WINDOW_MS', 'last - atMs >= 0']],
    caughtBy: 'libs/core/src/recovery.test.ts',
    breaks: 'only deaths within the hour count as attempts (D5)',
  },
  'lamport-goes-back': {
    file: 'libs/core/src/lamport.ts',
    edits: [['(other > seen ? other : seen)', '(other < seen ? other : seen)']],
    caughtBy: 'libs/core/src/lamport.test.ts',
    breaks: 'what is written is later than all that was seen',
  },
  'directives-may-not-fit': {
    file: 'libs/core/src/context/assemble.ts',
    edits: [['policy.budgetTokens - fixedTokens,', 'policy.budgetTokens,']],
    caughtBy: 'libs/core/src/context/assemble.properties.test.ts',
    breaks: 'a bundle keeps its token budget (I8)',
  },
};
