// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of the source have them.
/** Owns the mutations of the runtime: lease, effects, projection, archive, sealing on its way to the log. */

import type { Mutation } from './mutations.ts';

export const RUNTIME_MUTATIONS: Readonly<Record<string, Mutation>> = {
  'fenced-holder-stages': {
    file: 'libs/runtime/src/held-stream.ts',
    edits: [['if (this.#fenced !== undefined) return Promise.reject(this.#fenced);', '']],
    caughtBy: 'libs/runtime/src/held-stream.test.ts',
    breaks: 'a holder that lost its lease writes nothing more',
  },
  'gap-is-not-folded': {
    file: 'libs/runtime/src/held-stream.ts',
    edits: [['if (base > this.#next) await this.#foldGap(base);', 'if (base > this.#next) this.#next = base;']],
    caughtBy: 'libs/runtime/src/held-stream.test.ts',
    breaks: 'what others wrote before an append is folded before it counts',
  },
  'rejected-event-passes': {
    file: 'libs/runtime/src/held-stream.ts',
    edits: [
      [
        '    this.#fence(leaseLost(own.envelope, `${own.envelope.type} was rejected (${reason})`, reason));',
        "    if (reason === 'closed') this.#fence(leaseLost(own.envelope, `${own.envelope.type} was rejected (${reason})`, reason));\n    else this.#accept(own);",
      ],
    ],
    caughtBy: 'libs/runtime/src/held-stream.test.ts',
    breaks: 'after a rejection the holder builds on nothing that it speculated',
  },
  'clock-set-back-is-stamped': {
    file: 'libs/runtime/src/held-stream.ts',
    edits: [['if (now >= parent) return now;', 'if (now >= 0) return now;']],
    caughtBy: 'test/simulation/simulation.test.ts',
    breaks: 'a checkpoint is never stamped before its parent (D4)',
  },
  'half-an-append-is-staged': {
    file: 'libs/runtime/src/held-stream.ts',
    edits: [
      ['      this.#speculative = before;\n      return Promise.reject(error);', '      return Promise.reject(error);'],
    ],
    caughtBy: 'libs/runtime/src/held-stream.test.ts',
    breaks: 'of events that go together all are staged or none',
  },
  'untrusted-view-revokes': {
    file: 'libs/runtime/src/lease-keeper.ts',
    edits: [
      [
        '    if (!view.trusted) {\n      this.#ghosts.clear();',
        '    if (!view.trusted && view.holders.size > 1_000) {\n      this.#ghosts.clear();',
      ],
    ],
    caughtBy: 'libs/runtime/src/lease-keeper.test.ts',
    breaks: 'a Redis that was flushed revokes nobody',
  },
  'ghost-has-no-grace': {
    file: 'libs/runtime/src/lease-keeper.ts',
    edits: [["return now - since > GHOST_GRACE_MS ? 'lease-not-listed' : undefined;", "return 'lease-not-listed';"]],
    caughtBy: 'libs/runtime/src/lease-keeper.test.ts',
    breaks: 'a claim that is on its way has a grace before it counts as a ghost',
  },
  'listed-lease-is-revoked': {
    file: 'libs/runtime/src/lease-keeper.ts',
    edits: [
      [
        'if (listed.get(lease.workflow) === lease.epoch) return undefined;',
        'if (listed.get(lease.workflow) === lease.epoch + 1) return undefined;',
      ],
    ],
    caughtBy: 'libs/runtime/src/lease-keeper.test.ts',
    breaks: 'a lease that its holder lists stays',
  },
  'open-effects-do-not-stop-a-commit': {
    file: 'libs/runtime/src/commit.ts',
    edits: [['  if (open !== undefined) {\n', '  if (open !== undefined && result === undefined) {\n']],
    caughtBy: 'libs/runtime/src/effect-pending.test.ts',
    breaks: 'a step ends only after its calls have',
  },
  'a-correction-of-the-future': {
    file: 'libs/runtime/src/commit.ts',
    edits: [['supersedes >= 1 && supersedes < sequence) return supersedes;', 'supersedes >= 1) return supersedes;']],
    caughtBy: 'libs/runtime/src/commit.test.ts',
    breaks: 'a checkpoint corrects one before it',
  },
  'recorded-outcome-is-not-used': {
    file: 'libs/runtime/src/effect-journal.ts',
    edits: [
      [
        'if (known !== undefined) return fitting(effect, key, known);',
        "if (known !== undefined && effect.kind === 'pure') return fitting(effect, key, known);",
      ],
    ],
    caughtBy: 'libs/runtime/src/effect-journal.test.ts',
    breaks: 'a resolved effect answers from the journal (I4)',
  },
  'irreversible-probe-is-believed-early': {
    file: 'libs/runtime/src/effect-recovery.ts',
    edits: [
      [
        "if (left.status !== 'intended' || left.kind !== 'irreversible' || answer.status === 'done') return answer;",
        "if (left.status !== 'intended' || left.kind === 'irreversible' || answer.status === 'done') return answer;",
      ],
    ],
    caughtBy: 'libs/runtime/src/effect-journal.test.ts',
    breaks: 'not-done counts once no late call can arrive',
  },
  'pending-effect-is-not-written': {
    file: 'libs/runtime/src/effect-journal.ts',
    edits: [['    await this.#host.writeDurably([pendingDraft(this.#host, this.#task, effect, key, wait)]);\n', '']],
    caughtBy: 'libs/runtime/src/effect-pending.test.ts',
    breaks: 'a confirmation is awaited durably (D3)',
  },
  'undo-of-pure-effects': {
    file: 'libs/runtime/src/undone-things.ts',
    edits: [["if (kind === 'pure' || status", 'if (status']],
    caughtBy: 'libs/runtime/src/undo.test.ts',
    breaks: 'what never left the process is not undone',
  },
  'budget-is-not-checked': {
    file: 'libs/runtime/src/model-budgets.ts',
    edits: [['  if (over !== undefined) {\n', '  if (over !== undefined && call === undefined) {\n']],
    caughtBy: 'libs/runtime/src/model-budgets.test.ts',
    breaks: 'a budget is enforced before the call (B9)',
  },
  'waiter-is-freed-early': {
    file: 'libs/runtime/src/applied.ts',
    edits: [
      [
        'if ((next.get(waiter.partition) ?? -1) < waiter.offset) continue;',
        'if ((next.get(waiter.partition) ?? -1) < 0) continue;',
      ],
    ],
    caughtBy: 'libs/runtime/src/applied.test.ts',
    breaks: 'a reader that waits for an offset reads rows at least as new',
  },
  'closed-stream-keeps-timers': {
    file: 'libs/runtime/src/projection.ts',
    edits: [['    if (isClosed(after)) return;\n', '    if (!isClosed(after)) return;\n']],
    caughtBy: 'libs/runtime/src/projection.test.ts',
    breaks: 'timers of what waits are in rows, and of what has ended are not',
  },
  'state-outlives-its-range': {
    file: 'libs/runtime/src/projector.ts',
    edits: [
      [
        'if (!owned.has(partition % RANGE_COUNT)) this.#states.delete(partition);',
        'if (!owned.has(partition % RANGE_COUNT)) continue;',
      ],
    ],
    caughtBy: 'libs/runtime/src/projector.test.ts',
    breaks: 'a projector folds on from rows, after its range was another projector’s',
  },
  'segment-is-not-verified': {
    file: 'libs/runtime/src/compactor.ts',
    edits: [
      [
        'if (written !== undefined) return this.#writer.verified(written);',
        'if (written !== undefined) return written;',
      ],
    ],
    caughtBy: 'libs/runtime/src/compactor.test.ts',
    breaks: 'the log is trimmed only where a segment was proved (I7)',
  },
  'damaged-segment-goes-cold': {
    file: 'libs/runtime/src/retention.ts',
    edits: [
      [
        "if (stored !== undefined && hash('sha256', stored) === digest) return true;",
        'if (stored !== undefined) return true;',
      ],
    ],
    caughtBy: 'libs/runtime/src/retention.test.ts',
    breaks: 'what is moved to the cold store is what was archived',
  },
  'hold-does-not-hold': {
    file: 'libs/runtime/src/retention.ts',
    edits: [
      [
        'segment.workflows.some(({ workflow }) => holds.some((hold) => covers(hold, workflow)))',
        "segment.workflows.every(({ workflow }) => holds.some((hold) => covers(hold, workflow) && workflow === ''))",
      ],
    ],
    caughtBy: 'libs/runtime/src/retention.test.ts',
    breaks: 'nothing under a legal hold is deleted',
  },
  'payload-stays-plain': {
    file: 'libs/runtime/src/sealed-log.ts',
    edits: [
      [
        '      if (owner === undefined || !hasPayload(record)) {\n        sealed.push(record);',
        '      if (owner === undefined || hasPayload(record)) {\n        sealed.push(record);',
      ],
    ],
    caughtBy: 'libs/runtime/src/sealed-log.test.ts',
    breaks: 'what a workflow says is stored sealed (F4)',
  },
  'chain-is-not-compared': {
    file: 'libs/runtime/src/verify-archive.ts',
    edits: [
      [
        'manifest.chainBefore !== expected || manifest.previous !== (before?.ownDigest ?? null)',
        "manifest.chainBefore === '' && expected === ''",
      ],
    ],
    caughtBy: 'libs/runtime/src/verify-archive.test.ts',
    breaks: 'an archive that was changed does not verify (C5)',
  },
  'due-timers-fire-twice-a-page': {
    file: 'libs/runtime/src/timers.ts',
    edits: [
      ['if (fresh.length > 0 || due.length < TIMER_PAGE_COUNT) return fresh;', 'if (fresh.length >= 0) return fresh;'],
    ],
    caughtBy: 'libs/runtime/src/timers.test.ts',
    breaks: 'timers that cannot be written keep no others waiting',
  },
  'same-id-other-definition': {
    file: 'libs/runtime/src/starter.ts',
    edits: [['if (known !== undefined && known !== name) {', "if (known !== undefined && known === '') {"]],
    caughtBy: 'libs/runtime/src/starter.test.ts',
    breaks: 'an id belongs to one workflow',
  },
};
