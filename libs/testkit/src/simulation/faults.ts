/**
 * Owns what goes wrong in a run, and when: a plan drawn from the seed. Some faults come at a moment, others when a process makes a certain
 * call. Each seed has a few kinds only, so that each kind also meets an otherwise healthy fleet.
 */

import type { Envelope } from '@tidemark/core';
import type { Fleet } from './fleet.ts';
import { misbehave, signal } from './misbehaviour.ts';
import { type Call, LINKS, type Link } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { SeededRandom } from './random.ts';

export type FaultKind =
  | 'crash'
  | 'terminate'
  | 'pause'
  | 'cut'
  | 'outage'
  | 'slow'
  | 'flush'
  | 'drop'
  | 'clock'
  | 'misbehave'
  | 'signal'
  | 'trap'
  | 'long-trap'
  | 'late-call'
  | 'lost-caller'
  | 'frozen-caller'
  | 'bane';

export const FAULT_KINDS: readonly FaultKind[] = [
  'crash',
  'terminate',
  'pause',
  'cut',
  'outage',
  'slow',
  'flush',
  'drop',
  'clock',
  'misbehave',
  'signal',
  'trap',
  'long-trap',
  'late-call',
  'lost-caller',
  'frozen-caller',
  'bane',
];

const CLOCK_JUMP_MAX_MS = 300_000;
/** Longer than all waits of a successor before it calls again. */
const LONG_PAUSE_MS = { min: 10_000, max: 15_000 };

interface Trap {
  readonly role: SimulatedProcess['role'];
  readonly operation: string;
  readonly phase: Call['phase'];
  /** Calls that it lets pass. */
  skipCount: number;
  readonly spring: (process: SimulatedProcess) => void;
}

/** How many times a cursed workflow's holders die soon after their claim. */
const BANE_COUNT = { min: 3, max: 7 };
const BANE_AFTER_MS = 40;
const BANE_MS = 14_000;

/** Calls of a worker that are worth a fault: before and after each of them the log knows something else. */
const TRAPPED = [
  'LeaseClaimed',
  'CheckpointReserved',
  'EffectIntended',
  'EffectResolved',
  'CheckpointCommitted',
  'StepFailed',
  'WorkflowCompleted',
  'LeaseReleased',
  'loadStreams',
  'probed',
  'deduplicates',
  'blind',
  'probe',
];
const TRAPPED_OF_COORDINATOR = [
  'apply',
  'LeaseRevoked',
  'TimerFired',
  'leases',
  'loadPartitions',
  'shareRanges',
  'view',
];
/** Between any two of these the state of archiving, recording, trimming or dropping differs. */
const TRAPPED_OF_COMPACTOR = [
  'floors',
  'bounds',
  'read',
  'create-segment',
  'read-segment',
  'create-manifest',
  'read-manifest',
  'recordSegments',
  'trim',
  'dropRows',
  'dropRestored',
];
const TRAPPED_OF = { worker: TRAPPED, coordinator: TRAPPED_OF_COORDINATOR, compactor: TRAPPED_OF_COMPACTOR } as const;

export class Faults {
  readonly #fleet: Fleet;
  readonly #random: SeededRandom;
  #traps: Trap[] = [];
  #repairs: (() => void)[] = [];
  #over = false;
  /** By workflow: how many more of its holders will die. */
  readonly #banes = new Map<string, number>();
  /** No fault ends after this moment, in virtual milliseconds. */
  untilMs: number;

  constructor(fleet: Fleet, random: SeededRandom, durationMs: number) {
    this.#fleet = fleet;
    this.#random = random;
    this.untilMs = durationMs;
    fleet.network.onCall = (call) => this.#onCall(call);
  }

  /** Draws so many faults of these kinds, over the time that they have. */
  plan(kinds: readonly FaultKind[], count: number): void {
    const endMs = this.untilMs;
    for (let at = 0; at < count; at++) {
      const kind = this.#random.pick(kinds);
      this.#fleet.scheduler.after(this.#random.between(0, endMs), () => {
        if (!this.#over) this.begin(kind);
      });
    }
  }

  /** From now on nothing goes wrong, and everything broken is repaired. */
  heal(): void {
    this.#over = true;
    this.#traps = [];
    this.#banes.clear();
    for (const repair of this.#repairs.splice(0)) repair();
    const { redis, outside } = this.#fleet;
    Object.assign(redis.unreliability, { lost: 0, repeated: 0, late: 0 });
    Object.assign(outside.faults, { connects: false, refused: 0, slow: 0, answerLost: 0 });
    this.#fleet.ambiguous = 0;
    this.#fleet.alignClocks();
    this.#fleet.transcript.add('faults', 'are over');
  }

  begin(kind: FaultKind): void {
    const living = this.#fleet.living();
    if (living.length > 0) this.#acts[kind](this.#random.pick(living));
  }

  readonly #acts: Readonly<Record<FaultKind, (process: SimulatedProcess) => void>> = {
    crash: (process) => this.#fleet.crash(process, this.#random.between(20, 2_000)),
    terminate: (process) => this.#fleet.terminate(process, this.#random.between(20, 1_000)),
    pause: (process) =>
      this.pause(process, this.#random.pick([this.#random.between(50, 900), this.#random.between(900, 4_000)])),
    cut: (process) =>
      this.#during(this.#random.between(50, 3_000), `is cut from ${process.name}`, (link) =>
        this.#fleet.network.cut(process.name, link),
      ),
    outage: () =>
      this.#during(this.#random.between(50, 2_000), 'is down', (link) => this.#fleet.network.cut('*', link)),
    slow: () =>
      this.#during(this.#random.between(200, 3_000), 'is slow', (link) =>
        this.#fleet.network.slow(link, this.#random.pick([20, 100, 400])),
      ),
    flush: () => {
      this.#fleet.transcript.add('redis', 'is flushed');
      this.#fleet.redis.flush();
    },
    drop: () => {
      this.#fleet.transcript.add('store', 'is dropped');
      this.#fleet.store.drop();
    },
    clock: (process) => {
      const skewMs = Math.round(this.#random.between(-CLOCK_JUMP_MAX_MS, CLOCK_JUMP_MAX_MS));
      this.#fleet.transcript.add(process.name, `has its clock set wrong by ${skewMs} ms`);
      this.#fleet.setClock(process, skewMs);
    },
    misbehave: (process) => misbehave(this.#fleet.witness, this.#random, process.nowMs()),
    signal: (process) => signal(this.#fleet.witness, this.#random, process.nowMs()),
    trap: () => this.#setTrap(false),
    'long-trap': () => this.#setTrap(true),
    'late-call': () => this.#stopBeforeCall(),
    'lost-caller': () => this.#loseCaller(),
    'frozen-caller': () => this.#freezeCaller(),
    bane: () => this.#curse(),
  };

  pause(process: SimulatedProcess, ms: number): void {
    if (process.isDead || process.isPaused) return;
    this.#fleet.transcript.add(process.name, `stands still for ${Math.round(ms)} ms`);
    process.pause();
    this.#repairLater(ms, () => {
      if (process.isDead) return;
      this.#fleet.transcript.add(process.name, 'goes on');
      process.resume();
    });
  }

  #during(ms: number, what: string, begin: (link: Link) => () => void): void {
    const link = this.#random.pick(this.#fleet.options.archive === undefined ? LINKS : [...LINKS, 'objects' as const]);
    this.#fleet.transcript.add(link, `${what} for ${Math.round(ms)} ms`);
    this.#repairLater(ms, begin(link));
  }

  #repairLater(ms: number, repair: () => void): void {
    let isDone = false;
    const once = (): void => {
      if (isDone) return;
      isDone = true;
      repair();
    };
    this.#repairs.push(once);
    this.#fleet.scheduler.after(ms, once);
    this.untilMs = Math.max(this.untilMs, this.#fleet.scheduler.nowMs + ms);
  }

  /** Strikes at a later call: the process dies there, or hangs. */
  #setTrap(long: boolean): void {
    const random = this.#random;
    const role = this.#trappedRole(long);
    const operation = long
      ? random.pick(['EffectIntended', 'EffectIntended', 'apply', 'CheckpointCommitted'])
      : random.pick(TRAPPED_OF[role]);
    const pauses = long || random.chance(0.3);
    const pauseMs = long ? random.between(LONG_PAUSE_MS.min, LONG_PAUSE_MS.max) : random.between(500, 4_000);
    const restartMs = random.between(20, 1_500);
    this.#traps.push({
      role: operation === 'apply' ? 'coordinator' : role,
      operation,
      phase: random.pick(['sent', 'done']),
      skipCount: random.int(long ? 2 : 4),
      spring: (process) => (pauses ? this.pause(process, pauseMs) : this.#fleet.crash(process, restartMs)),
    });
  }

  #trappedRole(long: boolean): keyof typeof TRAPPED_OF {
    if (!long && this.#random.chance(0.25)) return 'coordinator';
    return !long && this.#fleet.options.archive !== undefined && this.#random.chance(0.5) ? 'compactor' : 'worker';
  }

  /** A worker hangs between its intention's acceptance and the call, for longer than its successor waits. */
  #stopBeforeCall(): void {
    const ms = this.#random.between(LONG_PAUSE_MS.min, LONG_PAUSE_MS.max);
    this.#traps.push({
      role: 'worker',
      operation: 'EffectIntended',
      phase: 'done',
      skipCount: this.#random.int(3),
      spring: (process) => this.pause(process, ms),
    });
  }

  /** A worker dies while its call is on its way, which arrives late. */
  #loseCaller(): void {
    this.#fleet.outside.faults.slow = 0.7;
    const afterMs = this.#random.between(1, 300);
    this.#traps.push({
      role: 'worker',
      operation: 'probed',
      phase: 'sent',
      skipCount: this.#random.int(3),
      spring: (process) => void this.#fleet.scheduler.after(afterMs, () => this.#fleet.crash(process, 100)),
    });
  }

  /** A worker stands still within its call, for longer than its successor waits; then the call leaves it. */
  #freezeCaller(): void {
    this.#fleet.outside.faults.connects = true;
    const ms = this.#random.between(LONG_PAUSE_MS.min, LONG_PAUSE_MS.max);
    this.#traps.push({
      role: 'worker',
      operation: 'connect',
      phase: 'sent',
      skipCount: this.#random.int(3),
      spring: (process) => this.pause(process, ms),
    });
  }

  /** One workflow kills its worker, again and again. */
  #curse(): void {
    const { id } = this.#random.pick(this.#fleet.options.starts);
    this.#banes.set(id, this.#random.count(BANE_COUNT.min, BANE_COUNT.max));
    this.untilMs = Math.max(this.untilMs, this.#fleet.scheduler.nowMs + BANE_MS);
  }

  /** The log accepted something. */
  onAccepted({ type, workflow, holder }: Envelope): void {
    const left = this.#banes.get(workflow) ?? 0;
    const process = this.#fleet.holders.get(holder);
    if (type !== 'LeaseClaimed' || left === 0 || process === undefined) return;
    this.#banes.set(workflow, left - 1);
    const afterMs = this.#random.between(0, BANE_AFTER_MS);
    this.#fleet.scheduler.after(afterMs, () => this.#fleet.crash(process, 50, `dies of ${workflow}`));
  }

  #onCall({ process, operation, phase }: Call): void {
    for (const trap of this.#traps) {
      if (trap.role !== process.role || trap.phase !== phase || !operation.split(' ').includes(trap.operation))
        continue;
      if (trap.skipCount-- > 0) continue;
      this.#traps = this.#traps.filter((other) => other !== trap);
      this.#fleet.transcript.add(process.name, `trapped at ${operation} (${phase})`);
      trap.spring(process);
      return;
    }
  }
}
