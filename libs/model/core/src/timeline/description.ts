/**
 * Owns what each event says to people, and to programs that follow for them: the only place that distinguishes all events for readers. The
 * console, the lines of `watch` and `show`, and the execution log of a folder draw what it says. Pure.
 *
 * S1. `title`, `detail` and `about` make a sentence, which `words` ends: `Step failed (boom, task 1.0, attempt 2): the line went dead`.
 */

import type { Json } from '../belief.ts';
import type { Controls, EventType } from '../event.ts';

/** An accepted event as the API reports it. */
export interface Moment {
  readonly position: number;
  /** One that this release doesn't know says its name. */
  readonly type: string;
  /** ISO 8601. */
  readonly at: string;
  readonly epoch: number;
  readonly holder: string | null;
  /** Without what the reader may not see. */
  readonly control: Readonly<Record<string, unknown>>;
  /** Absent: nobody may see it here, or it was forgotten. */
  readonly payload?: unknown;
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'quiet';

export interface Description {
  /** For programs: one word for what happened. */
  readonly kind: string;
  readonly title: string;
  readonly detail: string;
  readonly tone: Tone;
  /** The other workflow that it is about. */
  readonly about?: string | undefined;
  /** What programs that follow get beside the kind; absent: it is nothing to follow. */
  readonly facts?: Readonly<Record<string, Json>> | undefined;
  /** Of a person or of an error; empty: none, or they may not be shown. */
  readonly words: string;
}

/** Kinds that end a workflow. */
export const ENDINGS: ReadonlySet<string> = new Set(['completed', 'failed', 'compensated']);

/** Undefined: it says nothing by itself. */
export function describeEvent({
  type,
  control,
  payload,
}: Pick<Moment, 'type' | 'control' | 'payload'>): Description | undefined {
  const words = wordsIn(payload);
  const describe = Object.hasOwn(DESCRIPTIONS, type) ? (DESCRIPTIONS[type as EventType] as Describe) : unknown(type);
  const what = describe(control as never, words, payload);
  return what === undefined ? undefined : { kind: 'unknown', detail: '', tone: 'plain', words, ...what };
}

/** The message of the error in an event's payload, or the reason of a request. */
export function wordsIn(payload: unknown): string {
  const { error, why, value } = (payload ?? {}) as {
    readonly error?: { readonly message?: string };
    readonly why?: string;
    readonly value?: { readonly why?: string } | null;
  };
  return error?.message ?? why ?? value?.why ?? '';
}

/** Names the tasks that the end of a workflow dropped. */
export function droppedWords({ count, tasks }: Dropped): string {
  const more = count > tasks.length ? ` and ${count - tasks.length} more` : '';
  return `${count === 1 ? '1 pending task was' : `${count} pending tasks were`} dropped: ${tasks.join(', ')}${more}`;
}

export interface Dropped {
  readonly count: number;
  readonly tasks: readonly string[];
}

type What = { readonly title: string } & Partial<Description>;
type Describe<T extends EventType = EventType> = (
  control: Controls[T],
  words: string,
  payload: unknown,
) => What | undefined;

const nothing = (): undefined => undefined;
const unknown =
  (type: string): Describe =>
  () => ({ title: type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ') });

/** A new type of event does not compile before it stands here. */
const DESCRIPTIONS: { readonly [T in EventType]: Describe<T> } = {
  WorkflowOpened: (opening) => ({
    ...{ kind: 'started', title: 'Started', tone: 'quiet' },
    detail: `${opening.definition} v${opening.version}${originWords(opening)}`,
    facts: { definition_version: opening.version },
  }),
  SignalReceived: ({ name, replaces, by }, why) =>
    replaces === undefined
      ? { kind: 'signal', title: 'Signal', detail: `${name} came`, facts: { name } }
      : {
          kind: 'signal',
          title: 'Signal',
          detail: `${name} amended by ${by ?? 'somebody'}`,
          tone: 'warn',
          facts: { name, by: by ?? '', why },
        },
  TimerFired: ({ timer }) => ({ title: 'Timer fired', detail: timerWords(timer), tone: 'quiet' }),
  LeaseRevoked: ({ epoch, holder, reason, isGone, beside = 0 }) => {
    const facts = { holder, reason };
    const revoked = { kind: 'lease_lost', tone: 'bad', facts } as const;
    if (reason === 'asked') return { ...revoked, title: 'Lease revoked', detail: `(asked, epoch ${epoch})` };
    const dead = isGone === true ? 'its process ended' : 'it fell silent';
    const why = reason === 'holder-dead' ? dead : 'it no longer reported the lease';
    const others = beside === 0 ? '' : `, with ${beside} other ${beside === 1 ? 'workflow' : 'workflows'}`;
    return { ...revoked, title: 'Worker lost', detail: `(epoch ${epoch}): ${why}${others}` };
  },
  EffectConfirmed: ({ token, outcome }) => ({
    ...{ kind: 'confirmed', title: 'Effect confirmed', tone: outcome === 'failed' ? 'warn' : 'plain' },
    detail: `as ${outcome}${token === undefined ? '' : ` (token ${token})`}`,
    facts: { token: token ?? '', outcome },
  }),
  ApprovalDecided: ({ resolution, by }, why) => ({
    ...{ kind: 'decided', title: 'Decided', detail: `as ${resolution} by ${by}`, tone: 'good' },
    facts: { by, resolution, why },
  }),
  RetryDecided: ({ build }) => ({
    ...{ kind: 'decided', title: 'Decided', detail: `as retry on the build ${build}, which announced itself` },
    ...{ tone: 'good' },
    facts: { by: 'new-build', resolution: 'retry', why: `the build ${build} announced itself` },
  }),
  ApprovalGiven: ({ name, approved, by }, why) => {
    const answer = approved ? 'approved' : 'rejected';
    return {
      ...{ kind: 'decided', title: approved ? 'Approved' : 'Rejected', detail: `${name} by ${by}` },
      tone: approved ? 'good' : 'warn',
      facts: { by, resolution: `${answer} ${name}`, why },
    };
  },
  CompensationStarted: ({ undo, code }, message) => ({
    ...{ kind: 'compensating', title: 'Is being compensated', detail: `by ${undo} (${code})`, tone: 'warn' },
    facts: { reason: code, undo, message },
  }),
  CompensationFinished: ({ undo, outcome }, message) =>
    outcome === 'compensated'
      ? { kind: 'compensated', title: 'Was compensated', tone: 'good', facts: { undo } }
      : {
          ...{ kind: 'failed', title: 'Compensation failed', tone: 'bad' },
          facts: { reason: 'compensation-failed', message },
        },
  VersionPinned: ({ pinned, by }) => ({ title: pinned ? 'Pinned to its version' : 'Unpinned', ...given(by, 'quiet') }),
  MemoryWritten: ({ count }) => ({ title: 'Memory written', detail: `from outside (${count} added)` }),
  BudgetRaised: ({ by }) => ({ title: 'Budget raised', ...given(by, 'plain') }),
  RecordJudged: ({ offset, judgement, by }) => {
    const done = judgement === 'skip' ? 'skipped' : 'read again';
    return { title: 'Unreadable record', detail: `at offset ${offset} ${done} by ${by}`, tone: 'warn' };
  },
  CancelRequested: ({ code, by }, why) => ({
    ...{ kind: 'cancelling', title: 'Is being cancelled', ...given(`${by} (${code})`, 'warn') },
    facts: { by, why },
  }),
  PauseRequested: ({ by }, why) => ({ kind: 'paused', title: 'Paused', ...given(by, 'warn'), facts: { by, why } }),
  ResumeRequested: ({ by }, why) => ({
    ...{ kind: 'resumed_by', title: 'Resumed', ...given(by, 'good') },
    facts: { by, why },
  }),
  ChildClosed: ({ child, outcome }) => ({
    title: `Child ${outcome}`,
    ...{ tone: outcome === 'completed' ? 'good' : 'bad', about: child },
  }),

  LeaseClaimed: () => ({ title: 'Lease claimed', tone: 'quiet' }),
  LeaseReleased: ({ reason }) =>
    ({
      idle: undefined,
      drain: { title: 'Handed over', detail: 'as its worker is stopping', tone: 'quiet' } as const,
      fault: { title: 'Run failed', detail: 'by an error outside of any step', tone: 'bad' } as const,
    })[reason],
  RulesRaised: ({ rules }) => ({ title: `Event rules version ${rules}`, detail: 'from here on', tone: 'quiet' }),
  // These are no notes but entries of their own, which the timeline makes.
  CheckpointCommitted: nothing,
  EffectIntended: nothing,
  EffectResolved: nothing,
  CheckpointReserved: nothing,
  EffectPending: ({ task }) => ({ title: 'Checkpoint reserved', detail: `for task ${task}` }),
  StepFailed: ({ task, attempt, code, retry, outage }, message) => ({
    ...{ kind: 'step_failed', title: 'Step failed', tone: 'warn' },
    detail: `(${code}, task ${task}, attempt ${attempt}${retry === null ? ', the last' : outage === undefined ? '' : `, waits for ${outage.of}: ${outage.why}`})`,
    facts: { task, attempt, code, message, retry_ms: retry?.delayMs ?? null },
  }),
  WorkflowParked: ({ code }, message) => ({
    ...{ kind: 'parked', title: 'Waits for a person', detail: `(${code})`, tone: 'warn' },
    facts: { reason: code, message },
  }),
  WorkflowCompleted: ({ continued, dropped }, _, payload) => {
    const output = (payload as { readonly output?: Json } | undefined)?.output ?? null;
    if (continued !== undefined) {
      const facts = { output, continued_as: continued };
      return { kind: 'completed', title: 'Continues', detail: 'as', tone: 'good', about: continued, facts };
    }
    const left = dropped === undefined ? {} : ({ tone: 'warn', words: droppedWords(dropped) } as const);
    return { kind: 'completed', title: 'Completed', tone: 'good', ...left, facts: { output } };
  },
  WorkflowFailed: ({ code }, message) => ended('Failed', `(${code})`, code, message),
  WorkflowReset: ({ as, at, by }, why) => ({
    ...{
      kind: 'superseded',
      title: 'Superseded',
      detail: `from checkpoint ${at} on, as ${by} reset it, by`,
      tone: 'warn',
    },
    ...{ about: as, facts: { by, why, at, continued_as: as } },
  }),
  SignalDiscarded: ({ signal, by }, why) => ({
    ...{ kind: 'signal', title: 'Signal discarded', ...given(by, 'warn') },
    facts: { signal, by, why },
  }),
  WorkflowTerminated: ({ code, by }, message) => ended('Terminated', `by ${by} (${code})`, code, message),
  // Belongs to no workflow.
  PartitionFenced: nothing,
};

function originWords({ fork, parent, continues, compensates }: Controls['WorkflowOpened']): string {
  if (fork !== undefined && continues !== undefined) {
    return `, which supersedes ${fork.workflow} from checkpoint ${fork.sequence} on`;
  }
  if (fork !== undefined) return `, a fork of ${fork.workflow} at checkpoint ${fork.sequence}`;
  if (parent !== undefined) return `, a child of ${parent.workflow}`;
  if (continues !== undefined) return `, which continues ${continues.workflow}`;
  return compensates == null ? '' : `, which compensates ${compensates.workflow}`;
}

const given = (by: string, tone: Tone) => ({ detail: `by ${by}`, tone });

const ended = (title: string, detail: string, reason: string, message: string) =>
  ({ kind: 'failed', title, detail, tone: 'bad', facts: { reason, message } }) as const;

/** What a timer was for, from its name: `wait:{task}:{index}`, or a kind and a number of its own. */
function timerWords(timer: string): string {
  const [kind = '', task = ''] = timer.replace(/^base:/, '').split(':');
  return kind === 'wait' ? `for task ${task}` : (TIMERS[kind] ?? timer);
}

const TIMERS: Readonly<Record<string, string>> = {
  retry: 'for a retry',
  probe: 'to probe an effect',
  overdue: 'as a confirmation is overdue',
};
