/**
 * Owns the one fold of a workflow's events for people: what happened, in the order in which it began, each with its worker. It takes
 * accepted events one by one, so that live ones are added as they come. Must not draw, and must not keep what has ended.
 *
 * T1. Events are taken by position, each once; a repeated one is skipped. T2. An entry keeps its place: a later event about it (an effect's
 * outcome) changes the entry and moves none.
 */

import { ENDINGS, type Moment, type Said, said } from './said.ts';

export { type Dropped, droppedWords, ENDINGS, type Moment, type Said, said, type Tone, wordsIn } from './said.ts';

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

export interface CheckpointEntry extends Common {
  readonly kind: 'checkpoint';
  readonly sequence: number;
  /** Its id. */
  readonly checkpoint: string;
  readonly step: string;
  readonly task: string;
  readonly startedAtMs: number | undefined;
  /** Since the checkpoint before it, or the opening; undefined where that was not seen. */
  readonly sinceMs: number | undefined;
  readonly tokens: number;
  readonly costMicros: number;
  readonly lastAction: string;
}

export interface EffectEntry extends Common {
  readonly kind: 'effect';
  readonly key: string;
  readonly operation: string;
  readonly effectKind: string;
  readonly task: string;
  readonly isModel: boolean;
  /** `lost`: its caller's lease ended before an answer came. */
  status: 'running' | 'pending' | 'done' | 'failed' | 'lost';
  endedAtMs: number | undefined;
  /** The receiver's, once it accepted the call; empty where the reader may not see it. */
  token: string;
  /** Number of holders that called it, this one included. */
  readonly attempt: number;
  tokens: number;
  costMicros: number;
}

export interface NoteEntry extends Common {
  readonly kind: 'note';
  readonly type: string;
  readonly said: Said;
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
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
const maybe = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

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
  readonly #effects = new Map<string, EffectEntry>();
  /** The effect of the newest question to a person; empty: it is about none. */
  #askedKey = '';
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

  #entries(event: Moment, atMs: number): readonly Entry[] {
    const { type, control } = event;
    switch (type) {
      case 'WorkflowOpened':
        this.openedAtMs = atMs;
        this.#steppedAtMs = atMs;
        break;
      case 'LeaseClaimed':
        return this.#claimed(event, atMs);
      case 'LeaseReleased':
        this.#endLease(atMs, 'released', text(control.reason));
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
        this.#settle(this.#effectOf(text(control.token)), control.outcome, atMs);
        break;
      case 'WorkflowParked':
        this.#askedKey = text(control.key);
        break;
      case 'ApprovalDecided':
        this.#decided(text(control.resolution), atMs);
    }
    const notes = this.#note(event, atMs);
    const kind = notes[0]?.said.kind ?? '';
    this.isClosed ||= ENDINGS.has(kind);
    // A holder that parks it, or hands it to an undo, has it no more.
    if (this.isClosed) this.#endLease(atMs, 'ended', '');
    else if (kind === 'parked' || kind === 'compensating') this.#endLease(atMs, 'ended', kind);
    return notes;
  }

  #effectOf(token: string): EffectEntry | undefined {
    return token === '' ? undefined : [...this.#effects.values()].find((effect) => effect.token === token);
  }

  /** A person may know what became of the call in question. */
  #decided(resolution: string, atMs: number): void {
    if (resolution !== 'done' && resolution !== 'not-done') return;
    this.#settle(this.#effects.get(this.#askedKey), resolution === 'done' ? 'done' : 'failed', atMs);
  }

  #settle(effect: EffectEntry | undefined, outcome: unknown, atMs: number): void {
    if (effect === undefined) return;
    effect.status = outcome === 'failed' ? 'failed' : 'done';
    effect.endedAtMs = atMs;
    // One that failed may be called again.
    if (effect.status === 'done') this.#effects.delete(effect.key);
  }

  #lane(holder: string | null): number {
    if (holder === null) return -1;
    const known = this.holders.indexOf(holder);
    return known === -1 ? this.holders.push(holder) - 1 : known;
  }

  #common({ position, holder, epoch }: Moment, atMs: number): Common {
    return { position, atMs, lane: this.#lane(holder), held: this.live?.lane ?? -1, epoch };
  }

  /** What it says, but where this fold knows better. */
  #note(event: Moment, atMs: number, better: Partial<Said> = {}): readonly NoteEntry[] {
    const what = said(event);
    if (what === undefined) return [];
    return [{ kind: 'note', type: event.type, said: { ...what, ...better }, ...this.#common(event, atMs) }];
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

  #revoked(event: Moment, atMs: number): readonly NoteEntry[] {
    const reason = text(event.control.reason);
    this.#endLease(atMs, 'revoked', reason);
    if (reason !== 'asked') this.crashCount++;
    this.#lostAtMs = atMs;
    return this.#note({ ...event, holder: text(event.control.holder) }, atMs);
  }

  #began(event: Moment, atMs: number): EffectEntry {
    const before = this.#effects.get(text(event.control.key));
    if (before?.status === 'running') before.status = 'lost';
    return this.#effect(event, atMs, atMs, (before?.attempt ?? 0) + 1);
  }

  #effect(event: Moment, atMs: number, startMs: number, attempt: number): EffectEntry {
    const { control } = event;
    const operation = text(control.operation);
    const entry: EffectEntry = {
      kind: 'effect',
      ...this.#common(event, Math.min(startMs, atMs)),
      key: text(control.key),
      operation,
      effectKind: text(control.kind),
      task: text(control.task),
      isModel: operation === MODEL_OPERATION || control.model !== undefined,
      ...{ status: 'running', endedAtMs: undefined, token: '', attempt, tokens: 0, costMicros: 0 },
    };
    this.#effects.set(entry.key, entry);
    return entry;
  }

  #resolved(event: Moment, atMs: number): readonly EffectEntry[] {
    const { control } = event;
    const known = this.#effects.get(text(control.key));
    // An effect without intention is a closure, which records when it began.
    const entry = known ?? this.#effect(event, atMs, maybe(control.startedAtMs) ?? atMs, 1);
    const spent = control.spent as { readonly tokens?: unknown; readonly costMicros?: unknown } | undefined;
    entry.tokens = number(spent?.tokens);
    entry.costMicros = number(spent?.costMicros);
    this.#settle(entry, control.outcome, atMs);
    return known === undefined ? [entry] : [];
  }

  /** A repeated one only extends the wait. */
  #pending(event: Moment, atMs: number): readonly NoteEntry[] {
    const entry = this.#effects.get(text(event.control.key));
    if (entry?.status === 'pending') return [];
    if (entry === undefined) return this.#note(event, atMs);
    entry.status = 'pending';
    entry.token = text(event.control.token);
    const detail = `for task ${entry.task} until ${entry.operation} is confirmed`;
    return this.#note(event, atMs, { detail });
  }

  #committed(event: Moment, atMs: number): CheckpointEntry {
    const { control } = event;
    const before = this.#steppedAtMs;
    this.#steppedAtMs = atMs;
    this.checkpointCount++;
    return {
      kind: 'checkpoint',
      ...this.#common(event, atMs),
      sequence: number(control.sequence),
      checkpoint: text(control.checkpoint),
      step: text(control.step),
      task: text(control.task),
      startedAtMs: maybe(control.startedAtMs),
      sinceMs: before === undefined ? undefined : Math.max(0, atMs - before),
      tokens: number(control.tokens),
      costMicros: number(control.costMicros),
      lastAction: text(control.lastAction),
    };
  }
}
