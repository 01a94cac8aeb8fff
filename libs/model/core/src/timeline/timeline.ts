/**
 * Owns the one fold of a workflow's events for people: what happened, in the order in which it began, each with its worker. It takes
 * accepted events one by one, so that live ones are added as they come. Must not draw, and must not keep what has ended.
 *
 * T1. Events are taken by position, each once; a repeated one is skipped. T2. An entry keeps its place: a later event about it (an effect's
 * outcome) changes the entry and moves none.
 */

import type { Controls, EffectKind, EventType, Resolution } from '../event.ts';
import type { EffectKey } from '../ids.ts';
import { NO_SPEND, plusSpend, type Spend } from '../spend.ts';
import { type Description, describeEvent, ENDINGS, type Moment } from './description.ts';

export {
  type Description,
  type Dropped,
  describeEvent,
  droppedWords,
  ENDINGS,
  type Moment,
  type Tone,
  wordsIn,
} from './description.ts';
export {
  blockedWords,
  type StepNames,
  type There,
  unserved,
  WAIT_KINDS,
  type Wait,
  type WaitKind,
  type Work,
  waitOf,
} from './waits.ts';

interface Common {
  /** Position of the event that began it. */
  readonly position: number;
  readonly atMs: number;
  /** Index in `Timeline.holders`; -1: nobody's, such as a signal. */
  readonly lane: number;
  /** Index of the workflow's holder then; -1: none. */
  readonly held: number;
  readonly epoch: number;
}

type Committed = Controls['CheckpointCommitted'];
type Intended = Controls['EffectIntended'];
type Resolved = Controls['EffectResolved'];

export interface CheckpointEntry
  extends Common,
    Pick<Committed, 'sequence' | 'checkpoint' | 'step' | 'task' | 'startedAtMs' | 'lastAction'> {
  readonly kind: 'checkpoint';
  readonly spent: Spend;
  /** Since the checkpoint before it, or the opening; undefined where that was not seen. */
  readonly sinceMs: number | undefined;
}

export interface EffectEntry extends Common, Pick<Intended, 'key' | 'operation' | 'task'> {
  readonly kind: 'effect';
  readonly effectKind: EffectKind;
  readonly isModel: boolean;
  /** `lost`: its caller's lease ended before an answer came. */
  status: 'running' | 'pending' | 'done' | 'failed' | 'lost';
  endedAtMs: number | undefined;
  /** The receiver's, once it accepted the call; undefined where the reader may not see it. */
  token: string | undefined;
  /** Number of holders that called it, this one included. */
  readonly attempt: number;
  spent: Spend;
}

export interface NoteEntry extends Common {
  readonly kind: 'note';
  readonly type: string;
  readonly description: Description;
}

export type Entry = CheckpointEntry | EffectEntry | NoteEntry;

/** A stretch in which a worker held the workflow. */
export interface LeaseStretch {
  readonly lane: number;
  readonly epoch: number;
  readonly fromMs: number;
  /** Number of entries before it. */
  readonly fromEntry: number;
  toMs: number | undefined;
  end: 'live' | 'released' | 'revoked' | 'ended';
  /** Why it ended. */
  reason: string;
}

const MODEL_OPERATION = 'model';

type Known<T extends EventType = EventType> = {
  readonly [K in T]: Omit<Moment, 'type' | 'control'> & { readonly type: K; readonly control: Controls[K] };
}[T];

export class Timeline {
  readonly holders: string[] = [];
  readonly leases: LeaseStretch[] = [];
  /** Of the newest event. */
  position: number;
  entryCount = 0;
  openedAtMs = 0;
  newestAtMs = 0;
  crashCount = 0;
  checkpointCount = 0;
  isClosed = false;
  /** Effects that may change yet, by key. */
  readonly #effects = new Map<EffectKey, EffectEntry>();
  /** The effect of the newest question to a person; null: it is about none. */
  #askedKey: EffectKey | null = null;
  #lostAtMs: number | undefined;
  /** Of the newest checkpoint, or the opening. */
  #steppedAtMs: number | undefined;

  /** `position`: of the last event that isn't taken. */
  constructor(position = 0) {
    this.position = position;
  }

  get live(): LeaseStretch | undefined {
    const last = this.leases.at(-1);
    return last?.end === 'live' ? last : undefined;
  }

  /** Returns the entries that begin with the event; undefined: it was taken before (T1). */
  take(event: Moment): readonly Entry[] | undefined {
    if (event.position <= this.position) return undefined;
    this.position = event.position;
    const atMs = Date.parse(event.at);
    this.newestAtMs = Math.max(this.newestAtMs, atMs);
    const entries = this.#entries(event, atMs);
    this.entryCount += entries.length;
    return entries;
  }

  #entries(moment: Moment, atMs: number): readonly Entry[] {
    const event = moment as Moment & Known;
    switch (event.type) {
      case 'WorkflowOpened':
        this.openedAtMs = atMs;
        this.#steppedAtMs = atMs;
        break;
      case 'LeaseClaimed':
        return this.#claimed(event, atMs);
      case 'LeaseReleased':
        this.#endLease(atMs, 'released', event.control.reason);
        break;
      case 'LeaseRevoked':
        return this.#revoked(event, atMs);
      case 'EffectIntended':
        return [this.#began(event, atMs)];
      case 'EffectPending':
        return this.#pending(event, atMs);
      case 'EffectResolved':
        return this.#resolved(event, atMs);
      case 'CheckpointCommitted':
        return [this.#committed(event, atMs)];
      case 'EffectConfirmed':
        this.#settle(this.#effectOf(event.control.token), event.control.outcome, atMs);
        break;
      case 'WorkflowParked':
        this.#askedKey = event.control.key;
        break;
      case 'ApprovalDecided':
        this.#decided(event.control.resolution, atMs);
    }
    const notes = this.#note(moment, atMs);
    const kind = notes[0]?.description.kind ?? '';
    this.isClosed ||= ENDINGS.has(kind);
    // A holder that parks it, or hands it to an undo, has it no more.
    if (this.isClosed) this.#endLease(atMs, 'ended', '');
    else if (kind === 'parked' || kind === 'compensating') this.#endLease(atMs, 'ended', kind);
    return notes;
  }

  #effectOf(token: string | undefined): EffectEntry | undefined {
    return token === undefined ? undefined : [...this.#effects.values()].find((effect) => effect.token === token);
  }

  /** A person may know what became of the call in question. */
  #decided(resolution: Resolution, atMs: number): void {
    if (this.#askedKey === null || (resolution !== 'done' && resolution !== 'not-done')) return;
    this.#settle(this.#effects.get(this.#askedKey), resolution === 'done' ? 'done' : 'failed', atMs);
  }

  #settle(effect: EffectEntry | undefined, outcome: Resolved['outcome'], atMs: number): void {
    if (effect === undefined) return;
    effect.status = outcome;
    effect.endedAtMs = atMs;
    // One that failed may be called again.
    if (outcome === 'done') this.#effects.delete(effect.key);
  }

  #lane(holder: string | null): number {
    if (holder === null) return -1;
    const known = this.holders.indexOf(holder);
    return known === -1 ? this.holders.push(holder) - 1 : known;
  }

  #common({ position, holder, epoch }: Pick<Moment, 'position' | 'holder' | 'epoch'>, atMs: number): Common {
    return { position, atMs, lane: this.#lane(holder), held: this.live?.lane ?? -1, epoch };
  }

  /** What it says, but where this fold knows better. */
  #note(event: Moment, atMs: number, better: Partial<Description> = {}): readonly NoteEntry[] {
    const what = describeEvent(event);
    if (what === undefined) return [];
    return [{ kind: 'note', type: event.type, description: { ...what, ...better }, ...this.#common(event, atMs) }];
  }

  #claimed(event: Moment, atMs: number): readonly NoteEntry[] {
    const before = this.leases.at(-1);
    const lane = this.#lane(event.holder);
    this.#endLease(atMs, 'ended', '');
    const notes = this.#takenOver(event, atMs, before, lane);
    this.#lostAtMs = undefined;
    this.leases.push({
      ...{ lane, epoch: event.epoch, fromMs: atMs, fromEntry: this.entryCount + notes.length },
      ...{ toMs: undefined, end: 'live', reason: '' },
    });
    return notes;
  }

  /** A worker that claims it again is no news. */
  #takenOver(event: Moment, atMs: number, before: LeaseStretch | undefined, lane: number): readonly NoteEntry[] {
    if (this.#lostAtMs !== undefined) {
      const detail = `after ${Math.max(0, atMs - this.#lostAtMs)} ms`;
      return this.#note(event, atMs, { title: 'Taken over', detail, tone: 'good' });
    }
    if (before?.lane === lane) return [];
    return this.#note(event, atMs, before === undefined ? {} : { title: 'Moved to another worker' });
  }

  /** A call under way has no answer then, whatever ended the lease. */
  #endLease(atMs: number, end: LeaseStretch['end'], reason: string): void {
    for (const effect of this.#effects.values()) if (effect.status === 'running') effect.status = 'lost';
    const live = this.live;
    if (live === undefined) return;
    live.toMs = atMs;
    live.end = end;
    live.reason = reason;
  }

  #revoked(event: Moment & Known<'LeaseRevoked'>, atMs: number): readonly NoteEntry[] {
    const { reason, holder } = event.control;
    this.#endLease(atMs, 'revoked', reason);
    if (reason !== 'asked') this.crashCount++;
    this.#lostAtMs = atMs;
    return this.#note({ ...(event as Moment), holder }, atMs);
  }

  #began(event: Known<'EffectIntended'>, atMs: number): EffectEntry {
    const before = this.#effects.get(event.control.key);
    if (before?.status === 'running') before.status = 'lost';
    return this.#effect(event, atMs, (before?.attempt ?? 0) + 1);
  }

  #effect(event: Known<'EffectIntended' | 'EffectResolved'>, atMs: number, attempt: number): EffectEntry {
    const { key, operation, kind, task } = event.control;
    const isModel = operation === MODEL_OPERATION || 'model' in event.control;
    const entry: EffectEntry = {
      ...{ kind: 'effect', ...this.#common(event, atMs), key, operation, effectKind: kind, task, isModel },
      ...{ status: 'running', endedAtMs: undefined, token: undefined, attempt, spent: NO_SPEND },
    };
    this.#effects.set(key, entry);
    return entry;
  }

  #resolved(event: Known<'EffectResolved'>, atMs: number): readonly EffectEntry[] {
    const { key, outcome, spent, startedAtMs = atMs } = event.control;
    const known = this.#effects.get(key);
    // An effect without intention is a closure, which records when it began.
    const entry = known ?? this.#effect(event, Math.min(startedAtMs, atMs), 1);
    entry.spent = spent ?? NO_SPEND;
    this.#settle(entry, outcome, atMs);
    return known === undefined ? [entry] : [];
  }

  /** A repeated one only extends the wait. */
  #pending(event: Moment & Known<'EffectPending'>, atMs: number): readonly NoteEntry[] {
    const entry = this.#effects.get(event.control.key);
    if (entry?.status === 'pending') return [];
    if (entry === undefined) return this.#note(event, atMs);
    entry.status = 'pending';
    entry.token = event.control.token;
    return this.#note(event, atMs, { detail: `for task ${entry.task} until ${entry.operation} is confirmed` });
  }

  #committed(event: Known<'CheckpointCommitted'>, atMs: number): CheckpointEntry {
    const { sequence, checkpoint, step, task, startedAtMs, lastAction } = event.control;
    const sinceMs = this.#steppedAtMs === undefined ? undefined : Math.max(0, atMs - this.#steppedAtMs);
    this.#steppedAtMs = atMs;
    this.checkpointCount++;
    return {
      ...{ kind: 'checkpoint', ...this.#common(event, atMs), sequence, checkpoint, step, task },
      ...{ startedAtMs, sinceMs, spent: plusSpend(event.control, undefined), lastAction },
    };
  }
}
