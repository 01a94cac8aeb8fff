/**
 * Owns making random histories of one partition, several workflows in it, out of a list of small choices that a property test draws (and
 * shrinks). Each choice becomes one log entry that fits the state the naive fold is in, so most entries are accepted and histories get
 * deep; a choice's twist then makes it wrong in one way. Same choices, same history.
 */

import type { Controls, Envelope, EventType, LogEntry, Outage } from '@tidemark/core';
import { digestOf, entryOf, type Loose } from './events.ts';
import { NaivePartition } from './fold.ts';
import {
  answerOf,
  childEnd,
  choose,
  decisions,
  declarations,
  LIFECYCLE,
  openOf,
  timersOf,
  tokensOf,
} from './history-parts.ts';
import { type NaiveStream, type NaiveTask, outcomeIsOpen } from './stream.ts';
import { TWISTS, type Twist } from './twists.ts';

export const ACTS = [
  'open',
  'claim',
  'release',
  'revoke',
  'reserve',
  'intend',
  'pend',
  'confirm',
  'resolve',
  'commit',
  'fail',
  'complete',
  'break',
  'park',
  'decide',
  'compensate',
  'finish',
  'pin',
  'raise',
  'cancel',
  'terminate',
  'answer',
  'child-ends',
  'raise-rules',
  'pause',
  'resume',
  'signal',
  'timer',
  'resend',
  'unknown',
  'malformed',
  'fence',
] as const;
export type Act = (typeof ACTS)[number];

export interface Choice {
  readonly act: Act;
  /** Which workflow. */
  readonly who: number;
  /** For all other choices. */
  readonly pick: number;
  readonly twist: Twist;
}

export const HISTORY_PARTITION = 3;

interface Writer {
  readonly partition: NaivePartition;
  readonly entries: LogEntry[];
  lamport: number;
  nowMs: number;
}

/** The entries of a history that starts at offset `start`. */
export function historyOf(choices: readonly Choice[], start = 0): LogEntry[] {
  const writer: Writer = {
    partition: new NaivePartition(HISTORY_PARTITION, start),
    entries: [],
    lamport: 0,
    nowMs: 1_000_000,
  };
  for (const choice of choices) {
    const entry = entryFor(writer, choice);
    writer.partition.fold(entry);
    writer.entries.push(entry);
  }
  return writer.entries;
}

const awaits = (stream: NaiveStream): boolean => tokensOf(stream).length > 0;

/** Acts for streams in a certain state, and what usually leads to it where no stream is in it. */
const FITTING: Partial<Record<Act, { readonly fits: (stream: NaiveStream) => boolean; readonly otherwise: Act }>> = {
  decide: { fits: (stream) => stream.status === 'parked', otherwise: 'park' },
  raise: { fits: (stream) => stream.question?.code === 'budget_exceeded', otherwise: 'raise' },
  finish: { fits: (stream) => stream.status === 'compensating', otherwise: 'commit' },
  confirm: { fits: awaits, otherwise: 'pend' },
  resume: { fits: (stream) => stream.paused !== undefined, otherwise: 'pause' },
};

/** The act, and its candidate streams. */
function aim(streams: readonly NaiveStream[], { act, pick }: Choice): { act: Act; at: readonly NaiveStream[] } {
  const readable = streams.filter((one) => one.unreadable === null);
  const going = readable.filter((one) => one.status === 'open');
  const fitting = FITTING[act];
  // Sometimes to a stream that has ended, is parked or can't be read, if there is one.
  if (pick % 10 === 0) return { act, at: streams };
  const at = fitting === undefined ? going : readable.filter(fitting.fits);
  if (at.length > 0 || fitting === undefined) return { act, at };
  return { act: pick % 4 === 0 ? act : fitting.otherwise, at: going };
}

function entryFor(writer: Writer, choice: Choice): LogEntry {
  const { partition, entries } = writer;
  const going = partition.streams.filter((one) => one.status === 'open' && one.unreadable === null);
  if (choice.act === 'malformed') return { kind: 'malformed', problem: 'no header line' };
  if (choice.act === 'fence') return entryOf(fence(writer));
  if (choice.act === 'resend' && entries.length > 0) return choose(entries, choice.pick);
  const { act, at } = aim(partition.streams, choice);
  const stream = choose(at, choice.who);
  const wanted = stream === undefined || (act === 'open' && going.length < 4) ? 'open' : act;
  if (wanted === 'unknown' && stream !== undefined) {
    const generation = choice.twist === 'generation' ? stream.generation + 1 : stream.generation;
    return { kind: 'unknown', workflow: stream.workflow, generation, type: 'Dreamt', v: 2 } as LogEntry;
  }
  writer.lamport += 1 + (choice.pick % 3);
  writer.nowMs += choice.pick % 700;
  const envelope =
    stream === undefined || wanted === 'open' ? opening(writer, choice) : next(writer, stream, act, choice.pick);
  return entryOf(TWISTS[choice.twist](envelope, { stream, pick: choice.pick }));
}

function envelope<T extends EventType>(
  writer: Writer,
  of: { readonly workflow: string; readonly generation: number },
  type: T,
  control: Loose<Controls[T]>,
): Envelope<T> {
  return {
    v: 1,
    id: `e${writer.entries.length}`,
    tenant: 't',
    workflow: of.workflow,
    generation: of.generation,
    lamport: writer.lamport,
    epoch: 0,
    holder: '',
    ordinal: 0,
    atMs: writer.nowMs,
    type,
    control,
  } as unknown as Envelope<T>;
}

const fence = (writer: Writer): Envelope =>
  envelope(writer, { workflow: '~partition', generation: 1 }, 'PartitionFenced', { partition: HISTORY_PARTITION });

function opening(writer: Writer, choice: Choice): Envelope {
  const generation = writer.partition.generation + 1;
  const decide = decisions(choice.pick);
  return envelope(writer, { workflow: `w${generation}`, generation }, 'WorkflowOpened', {
    definition: 'audit',
    version: 1,
    rules: decide(40) === 0 ? 2 : 1,
    partition: HISTORY_PARTITION,
    placement: 'shared',
    inputDigest: digestOf('input'),
    tasks: declarations([], 0, 1 + decide(4), decide),
    pinned: decide(10) === 0,
    shadow: decide(10) === 0,
    compensates: decide(10) === 0 ? { workflow: 'w0', depth: 1 } : null,
    ...(decide(4) === 0 && { session: 's1', user: 'ana' }),
    ...(decide(5) === 0 && { timeoutMs: 500 }),
    ...(decide(6) === 0 && { parent: { workflow: 'p', task: '1.0', onClose: 'cancel' } }),
    ...(decide(6) === 0 && { fork: { workflow: 'w0', sequence: 2, effects: 'replay' } }),
  });
}

/** An event that the stream would accept, close to the wanted one. */
function next(writer: Writer, stream: NaiveStream, act: Act, pick: number): Envelope {
  const decide = decisions(pick);
  const inbox = inboxDraft(writer, stream, act, decide);
  if (inbox !== undefined) return inbox;
  if (stream.lease === null) {
    const claim = envelope(writer, stream, 'LeaseClaimed', {});
    return { ...claim, epoch: stream.epoch + 1, holder: `h${writer.entries.length}`, ordinal: 1 } as Envelope;
  }
  const { epoch, holder, ordinal } = stream.lease;
  if (act === 'revoke') {
    const reason = choose(['holder-dead', 'holder-dead', 'lease-not-listed', 'asked'], decide(4));
    const beside = choose([undefined, 0, 1, 2, 7], decide(5));
    return envelope(writer, stream, 'LeaseRevoked', { epoch, holder, reason, isGone: decide(2) === 0, beside });
  }
  return { ...holderDraft(writer, stream, act, decide), epoch, holder, ordinal: ordinal + 1 } as Envelope;
}

/** Events written without a lease; undefined for any other act. */
function inboxDraft(
  writer: Writer,
  stream: NaiveStream,
  act: Act,
  decide: (below: number) => number,
): Envelope | undefined {
  switch (act) {
    case 'signal':
      return signalling(writer, stream, decide);
    case 'timer':
      return envelope(writer, stream, 'TimerFired', { timer: choose(timersOf(stream), decide(97)) });
    case 'confirm': {
      const token = choose(awaits(stream) && decide(6) > 0 ? tokensOf(stream) : ['nobody'], decide(97));
      const outcome = choose(['done', 'done', 'failed'], decide(3));
      return envelope(writer, stream, 'EffectConfirmed', { token, outcome, responseDigest: digestOf('confirmed') });
    }
    case 'decide':
      if (stream.question !== null && stream.position % 2 === 0) {
        const build = `build ${writer.entries.length % 5}`;
        return envelope(writer, stream, 'RetryDecided', { question: stream.question.id, build });
      }
      return envelope(writer, stream, 'ApprovalDecided', decision(stream, decide));
    case 'finish': {
      const outcome = choose(['compensated', 'failed'], decide(2));
      return envelope(writer, stream, 'CompensationFinished', { undo: stream.undo ?? 'nothing', outcome });
    }
    case 'pin':
      if (decide(3) === 0) return envelope(writer, stream, 'RecordJudged', { offset: 0, judgement: 'skip', by: 'ann' });
      return decide(3) === 0
        ? envelope(writer, stream, 'MemoryWritten', { count: 1 + decide(2) })
        : envelope(writer, stream, 'VersionPinned', { pinned: decide(2) === 0, by: 'ann' });
    case 'child-ends':
      return envelope(writer, stream, 'ChildClosed', childEnd(stream, decide));
    case 'answer':
      return envelope(writer, stream, 'ApprovalGiven', answerOf(stream, decide));
    case 'terminate':
      if (decide(2) === 0) {
        const as = choose([`${stream.workflow}~2`, `${stream.workflow}~2`, 'elsewhere'], decide(3));
        return envelope(writer, stream, 'WorkflowReset', { as, at: stream.head.sequence, by: 'ann' });
      }
      return envelope(writer, stream, LIFECYCLE[act], { code: 'asked', by: 'ann' });
    case 'cancel':
    case 'pause':
    case 'resume':
      return envelope(writer, stream, LIFECYCLE[act], { code: 'asked', by: 'ann' });
    case 'raise':
      return envelope(writer, stream, 'BudgetRaised', { tokens: decide(3), costMicros: decide(3), by: 'ann' });
    default:
      return undefined;
  }
}

/** Now and then about one that came before, which a step may have read. */
function signalling(writer: Writer, stream: NaiveStream, decide: (below: number) => number): Envelope {
  const name = choose(['go', 'stop', 'more'], decide(3));
  const causes = stream.tasks.flatMap(({ cause }) => (cause?.kind === 'signal' ? [cause] : []));
  const known = [...stream.signals, ...causes];
  if (known.length === 0 || decide(3) > 0) return envelope(writer, stream, 'SignalReceived', { name });
  const of = choose(known, decide(97));
  if (decide(2) === 0) return envelope(writer, stream, 'SignalDiscarded', { signal: of.event, by: 'ann' });
  const said = decide(5) === 0 ? name : of.name;
  return envelope(writer, stream, 'SignalReceived', { name: said, replaces: of.event, by: 'ann' });
}

/** Usually about the effect in question, if it is about one. */
function decision(stream: NaiveStream, decide: (below: number) => number): Loose<Controls['ApprovalDecided']> {
  const { question } = stream;
  const aboutEffect = ['done', 'not-done'];
  const other = ['retry', 'retry', 'compensate', 'fail'];
  const resolution = choose(
    question?.key != null && decide(3) > 0 ? aboutEffect : [...other, ...aboutEffect],
    decide(12),
  );
  const responseDigest = resolution === 'done' ? digestOf('told') : null;
  return { question: question?.id ?? 'nothing', resolution, by: 'ann', responseDigest };
}

function holderDraft(writer: Writer, stream: NaiveStream, act: Act, decide: (below: number) => number): Envelope {
  const unblocked = stream.tasks.filter(
    ({ blockers, when, retry, effects }) =>
      blockers.length === 0 &&
      when.length === 0 &&
      retry === null &&
      effects.every(({ pending }) => pending === null || pending.isDue),
  );
  // A holder may also touch what is blocked; the fold has no rule against it.
  const task =
    decide(6) === 0 || unblocked.length === 0 ? choose(stream.tasks, decide(97)) : choose(unblocked, decide(3));
  if (act === 'release') return envelope(writer, stream, 'LeaseReleased', { reason: 'idle' });
  if (act === 'raise-rules') return envelope(writer, stream, 'RulesRaised', { rules: 1 });
  const inDoubt = openOf(stream);
  if (act === 'park') {
    const about = decide(4) > 0 && inDoubt.length > 0 ? choose(inDoubt, decide(97)) : undefined;
    const code = decide(3) === 0 ? 'budget_exceeded' : 'effect-unknown';
    const task = about?.task ?? choose([null, ...stream.tasks.map(({ id }) => id)], decide(97));
    // Few builds, so that a task fails on one again.
    const build = writer.entries.length % 3 === 0 ? {} : { build: `build ${writer.entries.length % 5}` };
    return envelope(writer, stream, 'WorkflowParked', {
      code,
      task,
      key: about?.key ?? null,
      ...build,
      ...alike(writer),
    });
  }
  if (act === 'compensate') {
    const key = inDoubt.length > 0 && decide(4) > 0 ? choose(inDoubt, decide(97)).key : null;
    const undo = `${stream.workflow}~undo`;
    return envelope(writer, stream, 'CompensationStarted', { undo, depth: 1, code: 'effect-unknown', key });
  }
  if (act === 'break')
    return envelope(writer, stream, 'WorkflowFailed', { code: 'boom', task: null, ...alike(writer) });
  if (act === 'complete' || task === undefined) {
    const continued = decide(3) === 0 ? { continued: `${stream.workflow}~2` } : {};
    return envelope(writer, stream, 'WorkflowCompleted', { outputDigest: digestOf('output'), ...continued });
  }
  if (act === 'reserve' && task.reserved === null) {
    return envelope(writer, stream, 'CheckpointReserved', { checkpoint: `r${writer.entries.length}`, task: task.id });
  }
  if (act === 'intend') return envelope(writer, stream, 'EffectIntended', intention(stream, task, decide));
  if (act === 'pend') return acceptance(writer, stream, task, decide);
  if (act === 'resolve') return resolution(writer, stream, task, decide);
  if (act === 'fail') {
    const retry =
      decide(2) === 0 ? null : { timer: `retry-${writer.entries.length}`, anchorMs: writer.nowMs, delayMs: 500 };
    return envelope(writer, stream, 'StepFailed', {
      task: task.id,
      attempt: task.failureCount + 1,
      code: choose(['boom', 'boom', 'bang'], decide(3)),
      retry,
      ...alike(writer),
      ...(retry !== null && decide(3) === 0 && { outage: outageOf(task, writer.nowMs) }),
    });
  }
  // Open effects must be resolved before their step may count as done.
  if (task.effects.some(outcomeIsOpen) && decide(5) > 0) {
    return resolution(writer, stream, task, decide);
  }
  return envelope(writer, stream, 'CheckpointCommitted', checkpoint(writer, stream, task, decide));
}

/** Few, so that failures are alike; none where another event says it. */
const alike = ({ entries: { length } }: Pick<Writer, 'entries'>): { readonly fingerprint?: string } =>
  length % 4 === 0 ? {} : { fingerprint: `00000000000${length % 3}` };

const outageOf = ({ outage }: NaiveTask, nowMs: number): Outage => ({
  ...{ of: 'pay', why: '503' },
  ...{ sinceMs: outage?.sinceMs ?? nowMs, count: (outage?.count ?? 0) + 1 },
  ...(outage !== undefined && { inLineMs: (outage.inLineMs ?? 0) + 500 }),
});

function intention(
  stream: NaiveStream,
  task: NaiveTask,
  decide: (below: number) => number,
): Loose<Controls['EffectIntended']> {
  const operation = `op${decide(3)}`;
  const key = `${stream.workflow}:${task.id}:${operation}:0`;
  const kind = choose(['irreversible', 'idempotent', 'pure'], decide(4));
  const call = {
    task: task.id,
    key,
    operation,
    kind,
    requestDigest: digestOf(operation),
    timeoutMs: 1_000 + decide(3),
  };
  const question = decide(2) === 0 ? { question: digestOf(`question ${decide(20)}`) } : {};
  return decide(2) === 0
    ? { ...call, ...question }
    : { ...call, ...question, model: { bundle: null, reserved: spend(decide) } };
}

const spend = (decide: (below: number) => number) => ({ tokens: decide(9), costMicros: decide(9), ...parts(decide) });
/** What most spends have not. */
const parts = (decide: (below: number) => number) => ({
  ...(decide(3) === 0 && { estimatedTokens: 1 + decide(9), unpricedTokens: 1 + decide(9) }),
  ...(decide(3) === 0 && { unknownCalls: 1, unknownTokens: 1 + decide(9), unknownCostMicros: 1 + decide(9) }),
});

/** Usually of an open effect; its timers' names are its own but for a few. */
function acceptance(writer: Writer, stream: NaiveStream, any: NaiveTask, decide: (below: number) => number): Envelope {
  const called = stream.tasks.filter(({ effects }) => effects.some(outcomeIsOpen));
  const task = called.length > 0 ? choose(called, decide(97)) : any;
  const open = task.effects.filter(outcomeIsOpen);
  const known = open.length > 0 ? open : task.effects;
  if (known.length === 0) return envelope(writer, stream, 'EffectIntended', intention(stream, task, decide));
  const { key } = choose(known, decide(7));
  // Timers of a shared name are due together: a row has one time for a name.
  const timer = (what: string) =>
    decide(8) === 0
      ? { timer: `t${decide(3)}`, anchorMs: 1_000_000, delayMs: 500 }
      : { timer: `${what}-${writer.entries.length}`, anchorMs: writer.nowMs, delayMs: 500 };
  return envelope(writer, stream, 'EffectPending', {
    task: task.id,
    key,
    token: `token-${key}-${decide(2)}`,
    probe: decide(3) === 0 ? null : timer('probe'),
    deadline: timer('overdue'),
  });
}

/** Usually of an open effect; else of another, which only a pure one survives. */
function resolution(writer: Writer, stream: NaiveStream, task: NaiveTask, decide: (below: number) => number): Envelope {
  const open = task.effects.filter(outcomeIsOpen);
  const known = open.length > 0 ? open : task.effects;
  const effect = known.length > 0 ? choose(known, decide(7)) : { ...intention(stream, task, decide), kind: 'pure' };
  return envelope(writer, stream, 'EffectResolved', {
    task: task.id,
    key: effect.key,
    operation: effect.operation,
    kind: effect.kind,
    outcome: decide(3) === 0 ? 'failed' : 'done',
    requestDigest: effect.requestDigest,
    responseDigest: digestOf('response'),
    ...(decide(2) === 0 && { spent: spend(decide) }),
  });
}

function checkpoint(
  writer: Writer,
  stream: NaiveStream,
  task: NaiveTask,
  decide: (below: number) => number,
): Loose<Controls['CheckpointCommitted']> {
  const sequence = stream.head.sequence + 1;
  const others = stream.tasks.filter((one) => one !== task);
  const idle = others.filter(({ effects, when }) => effects.length === 0 && !when.some(({ kind }) => kind === 'child'));
  const drops = decide(5) === 0 ? idle.filter(() => decide(3) === 0).map((one) => one.id) : [];
  const left = others.map((one) => one.id);
  return {
    checkpoint: task.reserved ?? `c${writer.entries.length}`,
    sequence,
    parent: stream.head.checkpoint,
    task: task.id,
    step: task.step,
    stepVersion: stream.version + (!stream.pinned && decide(9) === 0 ? 1 : 0),
    inputDigest: digestOf('input'),
    tasks: declarations(left, sequence, left.length > 12 ? 0 : decide(4), decide),
    ...(drops.length > 0 && { drops }),
    belief: choose(['none', 'delta', 'snapshot'], decide(3)),
    tokens: decide(100),
    costMicros: decide(1_000),
    ...parts(decide),
    lastAction: `did ${task.id}`,
    supersedes: sequence > 1 && decide(6) === 0 ? 1 + decide(sequence - 1) : null,
  };
}
