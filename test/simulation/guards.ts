/**
 * Owns the list of guards: where each stands in the source, what the source is without it, and the faults and workflows that
 * need it. Nothing of this is known to the product: a guard is taken out of the source text as it is loaded, in a process of
 * its own (see without-guard.ts).
 */

import type { FaultKind } from '@tidemark/testkit/simulation/faults';
import type { Workload } from '@tidemark/testkit/simulation/workloads';
import type { Mutation } from '../mutations/mutation.ts';

export interface Guard extends Pick<Mutation, 'file' | 'edits'> {
  /** Seeds are run with these alone. */
  readonly faults: readonly FaultKind[];
  /** Fails without the guard, and passes with it. */
  readonly seed: number;
  readonly workloads?: readonly Workload[];
  /** Runs archive history meanwhile. */
  readonly archives?: true;
}

const HOLDER = 'libs/model/core/src/fold-holder.ts';
const USES = 'libs/engine/runtime/src/effects/effect-uses.ts';
const LIVE_RUN = 'libs/author/sdk/src/function/live-run.ts';
const FUNCTION = 'libs/author/sdk/src/function/function.ts';
const FORGED: readonly FaultKind[] = ['misbehave'];
const MONEY: readonly Workload[] = ['pay', 'spread'];

export const GUARDS: Readonly<Record<string, Guard>> = {
  epoch: {
    file: HOLDER,
    edits: [["if (envelope.epoch < lease.epoch) return 'stale-epoch';", '']],
    seed: 134,
    faults: FORGED,
  },
  holder: {
    file: HOLDER,
    edits: [["if (envelope.epoch > lease.epoch || envelope.holder !== lease.holder) return 'wrong-holder';", '']],
    seed: 8,
    faults: FORGED,
  },
  ordinal: {
    file: HOLDER,
    edits: [
      ["if (envelope.ordinal <= lease.ordinal) return 'duplicate';", ''],
      ["if (envelope.ordinal > lease.ordinal + 1) return 'ordinal-gap';", ''],
    ],
    seed: 5,
    faults: FORGED,
  },
  parent: {
    file: HOLDER,
    edits: [
      ["if (control.parent !== head.checkpoint || control.sequence !== head.sequence + 1) return 'wrong-parent';", ''],
    ],
    seed: 16,
    faults: FORGED,
  },
  generation: {
    file: 'libs/model/core/src/fold.ts',
    edits: [
      [
        "if (envelope.generation !== stream.generation || envelope.tenant !== stream.tenant) return 'wrong-generation';",
        '',
      ],
    ],
    seed: 3,
    faults: FORGED,
  },
  'dedupe-by-id': {
    file: 'libs/model/core/src/fold-inbox.ts',
    edits: [["if (stream.inbox.includes(envelope.id)) return 'duplicate';", '']],
    seed: 6,
    faults: ['signal', 'misbehave'],
  },
  reservation: {
    file: HOLDER,
    edits: [
      [
        "task.reserved === null ? { ...task, reserved: envelope.control.checkpoint } : 'duplicate'",
        '({ ...task, reserved: envelope.control.checkpoint })',
      ],
    ],
    seed: 1,
    faults: FORGED,
    workloads: MONEY,
  },
  'request-digest': {
    file: 'libs/engine/runtime/src/effects/journaled-call.ts',
    edits: [['was.requestDigest !== this.recorded.requestDigest) await', 'was.key === null) await']],
    seed: 1,
    faults: ['crash'],
    workloads: ['fickle'],
  },
  'match-by-request': {
    file: USES,
    edits: [
      [
        'const same = this.#unnamed(questionOf(use));',
        `const [same] = [...this.#unclaimed.values()]
           .filter((one) => one.operation === operation)
           .sort((a, b) => this.#ordinalOf(a) - this.#ordinalOf(b));`,
      ],
    ],
    seed: 1,
    faults: ['crash'],
    workloads: ['overlap'],
  },
  'closure-path': {
    file: 'libs/engine/runtime/src/effects/effect-journal.ts',
    edits: [
      ['requestDigest: asked ?? way.path };', 'requestDigest: asked ?? digestOf(digest, null) };'],
      ['isPlaced && this.#isUnordered(inPlace)', "name === ''"],
    ],
    seed: 1,
    faults: ['crash'],
    workloads: ['overlap'],
  },
  'recorded-first': {
    file: USES,
    edits: [['if (same !== undefined || this.#others(use).length > 0) return undefined;', '']],
    seed: 1,
    faults: ['crash'],
    workloads: ['fickle'],
  },
  'lamport-check': {
    file: HOLDER,
    edits: [["if (envelope.lamport <= lease.lamport) return 'lamport-regression';", '']],
    seed: 1,
    faults: FORGED,
  },
  'clock-check': {
    file: HOLDER,
    edits: [["if (envelope.atMs < head.atMs - CLOCK_REGRESSION_MAX_MS) return 'clock-regression';", '']],
    seed: 212,
    faults: FORGED,
  },
  'call-window': {
    file: 'libs/engine/runtime/src/effects/journaled-call.ts',
    edits: [['if (mayCall && clock.monotonicMs() - sentMs <= CALL_WINDOW_MS) break;', 'if (mayCall) break;']],
    seed: 6,
    faults: ['late-call'],
    workloads: MONEY,
  },
  'late-probe-wait': {
    file: 'libs/engine/runtime/src/effects/effect-recovery.ts',
    edits: [['await run.ports.clock.sleep(waitMs, signal);', '']],
    seed: 3,
    faults: ['lost-caller'],
    workloads: MONEY,
  },
  'silent-caller': {
    file: 'libs/model/core/src/recovery.ts',
    edits: [["if (kind === 'irreversible' && mayStillCall) return 'ask-person';", '']],
    seed: 17,
    faults: ['frozen-caller'],
    workloads: MONEY,
  },
  'gone-is-known': {
    file: 'libs/engine/runtime/src/coordinator/lease-keeper.ts',
    edits: [['isGone: view.isGone(holder)', 'isGone: true']],
    seed: 1,
    faults: ['frozen-caller'],
    workloads: MONEY,
  },
  'projector-offset': {
    file: 'libs/testkit/src/engine/simulated-store.ts',
    edits: [['if (this.partitions.get(partition)?.next !== from) {', 'if (from < 0) {']],
    seed: 18,
    faults: ['drop', 'pause', 'slow'],
  },
  'one-snapshot-claim': {
    file: 'libs/testkit/src/simulation/store.ts',
    edits: [
      [
        "ask('loadStreams', () => store.loadStreams(workflows));",
        `ask('loadStreams', () => store.loadStreams(workflows)).then(async (rows) => {
           // Asked several times: the second moment is far enough from the first one that a batch comes between them.
           let next = new Map();
           for (let times = 0; times < 4; times++)
             next = await ask('positions', () => store.positions(rows.map((row) => row.partition)));
           return rows.map((row) => ({ ...row, next: next.get(row.partition) ?? row.next }));
         });`,
      ],
    ],
    seed: 17,
    faults: ['signal', 'slow', 'crash'],
  },
  'start-accepted': {
    file: 'libs/engine/runtime/src/inbox/starter.ts',
    edits: [
      ['if (found === undefined) {', 'if (found === undefined && offset < 0) {'],
      ["if (found !== 'gone') this.#send", "if (found !== undefined && found !== 'gone') this.#send"],
    ],
    seed: 5,
    faults: ['drop', 'cut', 'slow'],
  },
  'signals-go-along': {
    file: 'libs/model/core/src/continuing.ts',
    edits: [['signals: leftOf(stream),', 'signals: stream.signals,']],
    seed: 1,
    faults: ['signal'],
    workloads: ['turns'],
  },
  'signals-begin-with': {
    file: 'libs/engine/runtime/src/run/continuing.ts',
    edits: [['...(signals.length > 0 && { signals }),', '']],
    seed: 1,
    faults: ['signal'],
    workloads: ['turns'],
  },
  'undo-when-decided': {
    file: HOLDER,
    edits: [["if (effects.some((effect) => isOpen(effect) && effect.key !== key)) return 'not-intended';", '']],
    seed: 23,
    faults: FORGED,
    workloads: ['await', 'gather'],
  },
  'unvalidated-effects': {
    file: 'libs/engine/runtime/src/effects/effect-run.ts',
    edits: [
      ['effects.filter((one) => one.isSuspect)', 'effects.filter((one) => one.isSuspect && one.status !== one.status)'],
    ],
    seed: 10,
    faults: ['crash', 'trap'],
    workloads: MONEY,
  },
  'recovery-limit': {
    file: 'libs/engine/runtime/src/run/takeover.ts',
    edits: [['if (code === null) return undefined;', 'if (code !== state.reason || true) return undefined;']],
    seed: 1,
    faults: ['bane'],
  },
  'undo-order': {
    file: 'libs/engine/runtime/src/sagas/compensation-items.ts',
    edits: [['.sort((a, b) => b.position - a.position)', '.sort((a, b) => a.position - b.position)']],
    seed: 1,
    faults: ['crash'],
    workloads: ['unroll'],
  },
  'trim-to-segment': {
    file: 'libs/engine/runtime/src/archive/compactor.ts',
    edits: [['await log.trim(partition, manifest.to);', 'await log.trim(partition, floor);']],
    seed: 1,
    faults: ['crash', 'slow'],
    archives: true,
  },
  'one-manifest': {
    file: 'libs/engine/runtime/src/archive/archive-writer.ts',
    edits: [['if (written.object === object) return', 'if (written.to < 0) return']],
    seed: 1,
    faults: ['slow', 'trap'],
    archives: true,
  },
  'archive-read': {
    file: 'libs/engine/runtime/src/archive/tiered-log.ts',
    edits: [['if (!isTrimmed || attempt > READS_BETWEEN_TRIMS_MAX) throw error;', 'throw error;']],
    seed: 1,
    faults: ['drop'],
    archives: true,
  },
  'rows-of-open': {
    file: 'libs/engine/runtime/src/archive/archived-rows.ts',
    edits: [
      [
        'segment.workflows.flatMap(({ workflow, closes }) => (closes ? [workflow] : []))',
        'segment.workflows.map(({ workflow }) => workflow)',
      ],
    ],
    seed: 16,
    faults: ['slow'],
    archives: true,
  },
  'claim-creators': {
    file: 'libs/testkit/src/engine/simulated-rows.ts',
    edits: [['creators.has(sequence) || ', '']],
    seed: 6,
    faults: ['crash'],
  },
  'claim-journals': {
    file: 'libs/testkit/src/engine/simulated-rows.ts',
    edits: [['effects: effectsOf(tasks, effects),', 'effects: [],']],
    seed: 7,
    faults: ['crash'],
    workloads: MONEY,
  },
  'redis-marker': {
    file: 'libs/testkit/src/simulation/redis-views.ts',
    edits: [['trusted: askedMs - standing.sinceMs >= markerAgeMs', 'trusted: askedMs >= 0']],
    seed: 4,
    faults: ['flush'],
  },
  'function-own-outcome': {
    file: LIVE_RUN,
    edits: [
      [
        'return this.#calls.get(keyOf(id));',
        'return [...this.#calls.values()].find(({ name, isBegun }) => name === id.name && isBegun) ?? this.#calls.get(keyOf(id));',
      ],
    ],
    seed: 1,
    faults: ['crash'],
    workloads: ['script'],
  },
  'function-loser-dropped': {
    file: LIVE_RUN,
    edits: [
      [
        '      this.#calls.delete(keyOf(call));\n      if (!this.#fresh.delete(call)) this.#dropped.add(keyOf(call));',
        '',
      ],
    ],
    seed: 1,
    faults: ['crash'],
    workloads: ['script'],
  },
  'wait-once': {
    file: 'libs/model/core/src/frontier.ts',
    edits: [['const [task] = waiting.splice(at, 1);', 'const task = waiting[at];']],
    seed: 2,
    faults: ['crash'],
    workloads: ['script'],
  },
  'function-call-once': {
    file: LIVE_RUN,
    edits: [
      [
        'for (const begun of begins) this.#begun(await this.#expected(begun, known));',
        'for (const begun of begins) await this.#expected(begun, known);',
      ],
    ],
    seed: 1,
    faults: ['crash'],
    workloads: ['script'],
  },
  'function-divergence': {
    file: LIVE_RUN,
    edits: [
      ['if (call === undefined || (call.asks !== id.asks && call.takesRecorded !== true))', 'if (call === undefined)'],
    ],
    seed: 1,
    faults: ['crash'],
    workloads: ['stray'],
  },
  'function-drops-no-call': {
    file: LIVE_RUN,
    edits: [['if (!call.mayDrop && call.isBegun) continue;', '']],
    seed: 1,
    faults: ['crash'],
    workloads: ['script'],
  },
  'drops-no-call': {
    file: HOLDER,
    edits: [["if (!mayDrop(pending)) return 'not-intended';", '']],
    seed: 141,
    faults: FORGED,
    workloads: ['gather'],
  },
  'dropped-signal-returns': {
    file: HOLDER,
    edits: [["if (cause?.kind === 'signal') freed.push({ name: cause.name, event: cause.event });", '']],
    seed: 6,
    faults: ['slow'],
    workloads: ['script'],
  },
  'cancelled-is-told': {
    file: FUNCTION,
    edits: [['unwinds: true }', 'unwinds: false }']],
    seed: 1,
    faults: ['crash'],
    workloads: ['retreat'],
  },
};
