/**
 * Owns the timeline as rows: what happened to a workflow, in the order in which it began, each with its worker. Built from accepted events
 * one by one, so that live ones are added as they come. Must not draw, and must not know the page.
 *
 * T1. Events are added by position, each once; a repeated one is skipped. T2. A row keeps its place: a later event about it (an effect's
 * outcome) changes the row and moves none.
 */

import { words } from '../text/format.ts';

export interface Moment {
  readonly position: number;
  readonly type: string;
  readonly at: string;
  readonly epoch: number;
  readonly holder: string | null;
  readonly control: Readonly<Record<string, unknown>>;
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'quiet';

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

export interface CheckpointRow extends Common {
  readonly kind: 'checkpoint';
  readonly sequence: number;
  readonly step: string;
  readonly task: string;
  readonly startedAtMs: number | undefined;
  readonly tokens: number;
  readonly costMicros: number;
  readonly lastAction: string;
}

export interface EffectRow extends Common {
  readonly kind: 'effect';
  readonly key: string;
  readonly operation: string;
  readonly effectKind: string;
  readonly task: string;
  readonly isModel: boolean;
  /** `lost`: its caller died before an answer came. */
  status: 'running' | 'pending' | 'done' | 'failed' | 'lost';
  endedAtMs: number | undefined;
  /** Number of holders that called it, this one included. */
  readonly attempt: number;
  tokens: number;
  costMicros: number;
}

export interface NoteRow extends Common {
  readonly kind: 'note';
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly tone: Tone;
  /** The workflow that it is about, by its id; undefined: only this one. */
  readonly about: string | undefined;
}

export type Row = CheckpointRow | EffectRow | NoteRow;

/** A stretch in which a worker held the workflow. */
export interface Lease {
  readonly lane: number;
  readonly epoch: number;
  readonly fromMs: number;
  readonly fromRow: number;
  toMs: number | undefined;
  end: 'live' | 'released' | 'revoked' | 'ended';
  /** Why the lease was taken. */
  reason: string;
}

const MODEL_OPERATION = 'model';
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
const maybe = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

export class Timeline {
  readonly rows: Row[] = [];
  readonly holders: string[] = [];
  readonly leases: Lease[] = [];
  /** Of the newest added event. */
  position = 0;
  openedAtMs = 0;
  newestAtMs = 0;
  crashCount = 0;
  checkpointCount = 0;
  isClosed = false;
  /** Rises with every event. */
  version = 0;
  readonly #effects = new Map<string, EffectRow>();
  readonly #attempts = new Map<string, number>();
  readonly #bySequence = new Map<number, number>();
  readonly #byTask = new Map<string, number>();
  #lostAtMs: number | undefined;

  /** T1. True: it was new. */
  add(event: Moment): boolean {
    if (event.position <= this.position) return false;
    this.position = event.position;
    this.version++;
    const atMs = Date.parse(event.at);
    this.newestAtMs = Math.max(this.newestAtMs, atMs);
    this.#take(event, atMs);
    return true;
  }

  /** Index of a checkpoint's row; undefined: it is not here (yet). */
  rowOf(sequence: number): number | undefined {
    return this.#bySequence.get(sequence);
  }

  /** The checkpoint that committed a task; undefined: none has yet. */
  sequenceOf(task: string): number | undefined {
    return this.#byTask.get(task);
  }

  get live(): Lease | undefined {
    const last = this.leases.at(-1);
    return last?.end === 'live' ? last : undefined;
  }

  #take(event: Moment, atMs: number): void {
    const { type, control } = event;
    switch (type) {
      case 'WorkflowOpened':
        this.openedAtMs = atMs;
        this.#note(event, atMs, 'Opened', `${text(control.definition)} v${number(control.version)}`, 'quiet');
        return;
      case 'LeaseClaimed':
        this.#claimed(event, atMs);
        return;
      case 'LeaseReleased':
        this.#endLease(atMs, 'released', text(control.reason));
        if (control.reason === 'drain') this.#note(event, atMs, 'Handed over', 'its worker is stopping', 'quiet');
        if (control.reason === 'fault') this.#note(event, atMs, 'Run failed', 'by an error outside of any step', 'bad');
        return;
      case 'LeaseRevoked':
        this.#revoked(event, atMs);
        return;
      case 'EffectIntended':
        this.#began(event, atMs);
        return;
      case 'EffectPending':
        this.#pending(event, atMs);
        return;
      case 'EffectResolved':
        this.#resolved(event, atMs);
        return;
      case 'EffectConfirmed':
        this.#note(
          event,
          atMs,
          'Effect confirmed',
          text(control.outcome),
          control.outcome === 'failed' ? 'warn' : 'plain',
        );
        return;
      case 'CheckpointCommitted':
        this.#committed(event, atMs);
        return;
      case 'CheckpointReserved':
        return;
      default:
        this.#other(event, atMs);
    }
  }

  #lane(holder: string | null): number {
    if (holder === null) return -1;
    const known = this.holders.indexOf(holder);
    return known === -1 ? this.holders.push(holder) - 1 : known;
  }

  #common({ position, holder, epoch }: Moment, atMs: number): Common {
    return { position, atMs, lane: this.#lane(holder), held: this.live?.lane ?? -1, epoch };
  }

  #note(event: Moment, atMs: number, title: string, detail: string, tone: Tone): void {
    const about = aboutOf(event);
    this.rows.push({ kind: 'note', type: event.type, title, detail, tone, about, ...this.#common(event, atMs) });
  }

  #claimed(event: Moment, atMs: number): void {
    const before = this.leases.at(-1);
    const lane = this.#lane(event.holder);
    this.#endLease(atMs, 'ended', '');
    if (this.#lostAtMs !== undefined) {
      this.#note(event, atMs, 'Taken over', `after ${Math.max(0, atMs - this.#lostAtMs)} ms`, 'good');
    } else if (before === undefined || before.lane !== lane) {
      this.#note(event, atMs, before === undefined ? 'Lease claimed' : 'Moved to another worker', '', 'quiet');
    }
    this.#lostAtMs = undefined;
    const fromRow = this.rows.length;
    this.leases.push({
      ...{ lane, epoch: event.epoch, fromMs: atMs, fromRow },
      ...{ toMs: undefined, end: 'live', reason: '' },
    });
  }

  #endLease(atMs: number, end: Lease['end'], reason: string): void {
    const live = this.live;
    if (live === undefined) return;
    live.toMs = atMs;
    live.end = end;
    live.reason = reason;
  }

  #revoked(event: Moment, atMs: number): void {
    const reason = text(event.control.reason);
    const isCrash = reason !== 'asked';
    const holder = text(event.control.holder);
    this.#endLease(atMs, 'revoked', reason);
    if (isCrash) this.crashCount++;
    this.#lostAtMs = atMs;
    const dead = event.control.isGone === true ? 'its process ended' : 'it fell silent';
    const why = { 'holder-dead': dead, 'lease-not-listed': 'it no longer reported the lease' }[reason];
    this.#note(
      { ...event, holder },
      atMs,
      isCrash ? 'Worker lost' : 'Lease revoked',
      why ?? 'requested by a person',
      'bad',
    );
    for (const effect of this.#effects.values()) if (effect.status === 'running') effect.status = 'lost';
  }

  #began(event: Moment, atMs: number): void {
    const { control } = event;
    const key = text(control.key);
    const attempt = (this.#attempts.get(key) ?? 0) + 1;
    const before = this.#effects.get(key);
    if (before?.status === 'running') before.status = 'lost';
    this.#attempts.set(key, attempt);
    this.#effectRow(event, atMs, atMs, attempt);
  }

  #effectRow(event: Moment, atMs: number, startMs: number, attempt: number): EffectRow {
    const { control } = event;
    const operation = text(control.operation);
    const row: EffectRow = {
      kind: 'effect',
      ...this.#common(event, Math.min(startMs, atMs)),
      key: text(control.key),
      operation,
      effectKind: text(control.kind),
      task: text(control.task),
      isModel: operation === MODEL_OPERATION || control.model !== undefined,
      ...{ status: 'running', endedAtMs: undefined, attempt, tokens: 0, costMicros: 0 },
    };
    this.rows.push(row);
    this.#effects.set(row.key, row);
    return row;
  }

  #resolved(event: Moment, atMs: number): void {
    const { control } = event;
    const known = this.#effects.get(text(control.key));
    // An effect without intention is a closure, which records when it began.
    const row = known ?? this.#effectRow(event, atMs, maybe(control.startedAtMs) ?? atMs, 1);
    const spent = control.spent as { readonly tokens?: unknown; readonly costMicros?: unknown } | undefined;
    row.tokens = number(spent?.tokens);
    row.costMicros = number(spent?.costMicros);
    this.#settle(row.key, control.outcome === 'failed' ? 'failed' : 'done', atMs);
  }

  /** A repeated one only extends the wait. */
  #pending(event: Moment, atMs: number): void {
    const { task, key } = event.control;
    const row = this.#effects.get(text(key));
    if (row?.status === 'pending') return;
    this.#settle(text(key), 'pending', undefined);
    const detail = `task ${text(task)} · until ${row?.operation ?? 'its effect'} is confirmed`;
    this.#note(event, atMs, 'Checkpoint reserved', detail, 'plain');
  }

  #settle(key: string, status: EffectRow['status'], endedAtMs: number | undefined): void {
    const row = this.#effects.get(key);
    if (row === undefined) return;
    row.status = status;
    row.endedAtMs = endedAtMs;
    if (endedAtMs !== undefined) this.#effects.delete(key);
  }

  #committed(event: Moment, atMs: number): void {
    const { control } = event;
    const sequence = number(control.sequence);
    this.checkpointCount++;
    this.#bySequence.set(sequence, this.rows.length);
    this.#byTask.set(text(control.task), sequence);
    this.rows.push({
      kind: 'checkpoint',
      ...this.#common(event, atMs),
      sequence,
      step: text(control.step),
      task: text(control.task),
      startedAtMs: maybe(control.startedAtMs),
      tokens: number(control.tokens),
      costMicros: number(control.costMicros),
      lastAction: text(control.lastAction),
    });
  }

  #other(event: Moment, atMs: number): void {
    const [title, detail, tone] = said(event);
    this.#note(event, atMs, title, detail, tone);
    if (ENDS.has(event.type)) {
      this.isClosed = true;
      this.#endLease(atMs, 'ended', '');
    }
  }
}

const ENDS: ReadonlySet<string> = new Set([
  'WorkflowCompleted',
  'WorkflowFailed',
  'WorkflowTerminated',
  'CompensationFinished',
]);

function aboutOf({ type, control }: Moment): string | undefined {
  const id = type === 'ChildClosed' ? text(control.child) : type === 'WorkflowCompleted' ? text(control.continued) : '';
  return id === '' ? undefined : id;
}

/** The pending tasks that the end dropped. */
function undone(dropped: unknown): string {
  const { count, tasks } = dropped as { readonly count: number; readonly tasks: readonly string[] };
  const what = count === 1 ? '1 pending task was' : `${count} pending tasks were`;
  return `${what} dropped: ${tasks.join(', ')}${count > tasks.length ? ` and ${count - tasks.length} more` : ''}`;
}

/** Title, detail and tone of anything but leases, effects and checkpoints. */
function said({ type, control }: Moment): readonly [string, string, Tone] {
  const code = words(text(control.code));
  const by = text(control.by) === '' ? '' : `by ${text(control.by)}`;
  switch (type) {
    case 'SignalReceived':
      return ['Signal received', text(control.name), 'plain'];
    case 'TimerFired':
      return ['Timer fired', timerWords(text(control.timer)), 'quiet'];
    case 'StepFailed':
      return [
        'Attempt failed',
        `${code} · attempt ${number(control.attempt)}${control.retry ? ', will be retried' : ''}`,
        'warn',
      ];
    case 'WorkflowParked':
      return ['Needs a person', code, 'warn'];
    case 'ApprovalDecided':
      return ['Question answered', `${words(text(control.resolution))} ${by}`, 'good'];
    case 'RetryDecided':
      return ['Question answered', `retry on the build ${text(control.build)}`, 'good'];
    case 'ApprovalGiven': {
      const isApproved = control.approved === true;
      const answer = `${text(control.name)} · ${isApproved ? 'approved' : 'rejected'} ${by}`;
      return ['Approval answered', answer, isApproved ? 'good' : 'warn'];
    }
    case 'MemoryWritten':
      return ['Memory written', `${number(control.count)} added from outside`, 'plain'];
    case 'WorkflowCompleted':
      if (control.continued !== undefined) return ['Continues', 'as', 'good'];
      return control.dropped === undefined ? ['Completed', '', 'good'] : ['Completed', undone(control.dropped), 'warn'];
    case 'ChildClosed':
      return [`Child ${CHILD_OUTCOMES[text(control.outcome)] ?? 'ended'}`, '', childTone(control.outcome)];
    case 'RulesRaised':
      return [`Event rules version ${number(control.rules)}`, 'from here on', 'quiet'];
    case 'WorkflowFailed':
      return ['Failed', code, 'bad'];
    case 'WorkflowTerminated':
      return ['Terminated', by, 'bad'];
    case 'CancelRequested':
      return ['Cancel requested', by, 'warn'];
    case 'PauseRequested':
      return ['Paused', by, 'warn'];
    case 'ResumeRequested':
      return ['Resumed', by, 'good'];
    case 'RecordJudged':
      return ['Unreadable record', `${control.judgement === 'skip' ? 'skipped' : 'read again'} ${by}`, 'warn'];
    case 'VersionPinned':
      return [control.pinned === true ? 'Pinned to its version' : 'Unpinned', by, 'quiet'];
    case 'BudgetRaised':
      return ['Budget raised', by, 'plain'];
    case 'CompensationStarted':
      return ['Compensation started', `${code} · ${text(control.undo)}`, 'warn'];
    case 'CompensationFinished':
      return control.outcome === 'failed' ? ['Compensation failed', '', 'bad'] : ['Compensated', '', 'good'];
    default:
      return [type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' '), '', 'plain'];
  }
}

/** What a timer was for, from its name: `wait:{task}:{index}`, or a kind and a number of its own. */
function timerWords(timer: string): string {
  const [kind = '', task = ''] = timer.replace(/^base:/, '').split(':');
  return kind === 'wait' ? `task ${task}` : (TIMERS[kind] ?? timer);
}

const TIMERS: Readonly<Record<string, string>> = {
  retry: 'for a retry',
  probe: 'to probe an effect',
  overdue: 'confirmation is overdue',
};

const CHILD_OUTCOMES: Readonly<Record<string, string>> = {
  completed: 'completed',
  failed: 'failed',
  compensated: 'was compensated',
};
const childTone = (outcome: unknown): Tone => (outcome === 'completed' ? 'good' : 'bad');
