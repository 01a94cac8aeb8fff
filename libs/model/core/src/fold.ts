/**
 * Owns the arbitration: a pure function over one partition in offset order that accepts or rejects each entry. A rejected entry changes
 * nothing but the next offset. All readers of the same prefix reach the same state, in any batching and from any restart point (I5); per
 * workflow, accepted checkpoints form one chain (I2); an epoch has one holder (I3).
 */

import { openContinued } from './continuing.ts';
import { type Envelope, type EventEntry, type LogEntry, RULES_VERSION } from './event.ts';
import { foldHolder } from './fold-holder.ts';
import { foldInbox } from './fold-inbox.ts';
import { addTasks } from './frontier.ts';
import type { Generation, Offset, Position, WorkflowId } from './ids.ts';
import { ZERO } from './ids.ts';
import { witness } from './lamport.ts';
import { declaresChild, WORKFLOW_TIMER } from './lifecycle.ts';
import { EMPTY_FRONTIER, isClosed, type PartitionState, type StreamState } from './state.ts';
import { type RejectReason, rejected, type Verdict } from './verdict.ts';

/** Rules versions that this code can fold. */
export const RULES_READABLE = { min: 1, max: RULES_VERSION } as const;

export interface FoldStep {
  readonly state: PartitionState;
  readonly verdict: Verdict;
}

/** Folds the entry at `state.next`. */
export function foldEntry(state: PartitionState, entry: LogEntry): FoldStep {
  const next = (state.next + 1) as Offset;
  if (entry.kind === 'malformed') return { state: { ...state, next }, verdict: rejected('malformed') };
  if (entry.kind === 'unknown') return parkUnreadable({ ...state, next }, entry, state.next);
  const { envelope } = entry;
  if (envelope.type === 'WorkflowOpened') return foldOpened(state, envelope, entry);
  if (envelope.type === 'PartitionFenced') return foldFenced(state, envelope);
  const before = state.streams.get(envelope.workflow);
  if (before === undefined) return { state: { ...state, next }, verdict: rejected('wrong-generation') };
  const { stream, verdict } = foldRecord(before, entry, state.next);
  if (stream === before) return { state: { ...state, next }, verdict };
  const after = isClosed(stream) ? { ...stream, closedInGeneration: state.generation } : stream;
  return { state: { ...state, next, streams: new Map(state.streams).set(envelope.workflow, after) }, verdict };
}

/**
 * As `foldStream`, for a record of the log. A record that would be accepted stops the stream when its payload can't be read, or is plain
 * after a sealed one. A record that is rejected anyway stops nothing.
 */
export function foldRecord(
  before: StreamState,
  { envelope, seal, problem }: EventEntry,
  at: Offset,
): { readonly stream: StreamState; readonly verdict: Verdict } {
  const { stream, verdict } = foldStream(before, envelope);
  if (verdict.kind === 'unreadable') return { stream: judged(before, envelope, seal), verdict };
  if (verdict.kind !== 'accepted') return { stream, verdict };
  const why = problem ?? (seal === 'plain' && before.sealed === true ? 'sealed-wrong' : undefined);
  if (why !== undefined) {
    const { type, v } = envelope;
    return {
      stream: { ...before, unreadable: { offset: at, type, v, problem: why } },
      verdict: { kind: 'unreadable' },
    };
  }
  return { stream: isSealed(seal) && stream.sealed !== true ? { ...stream, sealed: true } : stream, verdict };
}

/** Forgotten counts as sealed, so rebuilding after a key was destroyed gives the same rows. */
const isSealed = (seal: EventEntry['seal']): boolean => seal === 'sealed' || seal === 'forgotten';

/**
 * Notes a person's decision about the record at which the stream stopped. Where sealing is required, a record whose key was destroyed can't
 * be taken: anybody could have written it. A workflow can't do without its opening.
 */
function judged(stream: StreamState, envelope: Envelope, seal: EventEntry['seal']): StreamState {
  const { unreadable } = stream;
  if (envelope.type !== 'RecordJudged' || unreadable?.problem === undefined) return stream;
  const { offset, judgement } = envelope.control;
  if (offset !== unreadable.offset || (stream.sealed === true && seal !== 'sealed')) return stream;
  if (judgement === 'skip' && unreadable.type === 'WorkflowOpened') return stream;
  return { ...stream, unreadable: { ...unreadable, judgement } };
}

/**
 * Folds one event into its stream. Whether a stream accepts it depends on nothing else in the partition, so a holder may fold its own
 * stream alone.
 */
export function foldStream(
  before: StreamState,
  envelope: Envelope,
): { readonly stream: StreamState; readonly verdict: Verdict } {
  const outcome = decide(before, envelope);
  if (typeof outcome === 'string') return { stream: before, verdict: rejected(outcome) };
  if (outcome === undefined) return { stream: before, verdict: { kind: 'unreadable' } };
  const position = (before.position + 1) as Position;
  const stream: StreamState = {
    ...outcome,
    position,
    lamport: witness(before.lamport, envelope.lamport),
    updatedAtMs: envelope.atMs,
  };
  return { stream, verdict: { kind: 'accepted', position } };
}

function decide(stream: StreamState, envelope: Envelope): StreamState | RejectReason | undefined {
  if (envelope.generation !== stream.generation || envelope.tenant !== stream.tenant) return 'wrong-generation';
  if (stream.unreadable !== null) return undefined;
  if (isClosed(stream)) return 'closed';
  switch (envelope.type) {
    case 'WorkflowOpened':
      return 'duplicate';
    case 'PartitionFenced':
      return 'wrong-generation';
    case 'SignalReceived':
    case 'SignalDiscarded':
    case 'WorkflowReset':
    case 'TimerFired':
    case 'LeaseRevoked':
    case 'EffectConfirmed':
    case 'ApprovalDecided':
    case 'RetryDecided':
    case 'CompensationFinished':
    case 'VersionPinned':
    case 'MemoryWritten':
    case 'BudgetRaised':
    case 'CancelRequested':
    case 'WorkflowTerminated':
    case 'PauseRequested':
    case 'ResumeRequested':
    case 'ApprovalGiven':
    case 'ChildClosed':
    case 'RecordJudged':
      return foldInbox(stream, envelope);
    default:
      return foldHolder(stream, envelope);
  }
}

function foldOpened(
  state: PartitionState,
  envelope: Envelope<'WorkflowOpened'>,
  { seal, problem }: EventEntry,
): FoldStep {
  const next = (state.next + 1) as Offset;
  const { control } = envelope;
  const known = state.streams.get(envelope.workflow);
  // A second opening must not replace a live workflow, whatever generation it names.
  if (known !== undefined && (known.generation === envelope.generation || !isClosed(known))) {
    return { state: { ...state, next }, verdict: rejected('duplicate') };
  }
  if (envelope.generation !== state.generation + 1 || control.partition !== state.partition) {
    return { state: { ...state, next }, verdict: rejected('wrong-generation') };
  }
  const streams = liveStreams(state);
  const opened = openedStream(envelope, state.next);
  const unreadable = opened.unreadable ?? {
    offset: state.next,
    type: envelope.type,
    v: envelope.v,
    problem,
  };
  streams.set(envelope.workflow, {
    ...opened,
    ...(isSealed(seal) && { sealed: true }),
    ...(problem !== undefined && { unreadable }),
  });
  return {
    state: { ...state, next, generation: envelope.generation, streams },
    verdict: { kind: 'accepted', position: 1 as Position },
  };
}

/** At most this many openings are in flight in one partition at once. */
const ERA_GENERATIONS = 2 ** 20;

/** The first generation that no opening in flight can name. */
export const nextEra = (generation: Generation): Generation =>
  ((Math.floor(generation / ERA_GENERATIONS) + 1) * ERA_GENERATIONS) as Generation;

/** Skips the generations that openings in flight may name, however many there are. */
function foldFenced(state: PartitionState, { control }: Envelope<'PartitionFenced'>): FoldStep {
  const next = (state.next + 1) as Offset;
  if (control.partition !== state.partition)
    return { state: { ...state, next }, verdict: rejected('wrong-generation') };
  const generation = nextEra(state.generation);
  return {
    state: { ...state, next, generation, streams: liveStreams(state) },
    verdict: { kind: 'accepted', position: 0 as Position },
  };
}

/** Forgets streams that closed in earlier generations. */
function liveStreams({ streams }: PartitionState): Map<WorkflowId, StreamState> {
  const live = new Map<WorkflowId, StreamState>();
  for (const [id, stream] of streams) if (!isClosed(stream)) live.set(id, stream);
  return live;
}

function openedStream(envelope: Envelope<'WorkflowOpened'>, at: Offset): StreamState {
  const { control } = envelope;
  const frontier = addTasks(EMPTY_FRONTIER, ZERO.sequence, control.tasks);
  const readable = control.rules >= RULES_READABLE.min && control.rules <= RULES_READABLE.max;
  return {
    tenant: envelope.tenant,
    workflow: envelope.workflow,
    generation: envelope.generation,
    definition: control.definition,
    version: control.version,
    rules: control.rules,
    status: 'open',
    reason: null,
    question: null,
    ruling: null,
    pinned: control.pinned,
    shadow: control.shadow,
    compensates: control.compensates,
    ...(control.session !== undefined && { session: control.session }),
    ...(control.user !== undefined && { user: control.user }),
    ...(control.tags !== undefined && { tags: control.tags }),
    ...(control.fork !== undefined && { fork: control.fork }),
    ...(control.parent !== undefined && { parent: control.parent }),
    ...(declaresChild(control.tasks) && { hasChildren: true }),
    ...(control.timeoutMs !== undefined && {
      deadline: { timer: WORKFLOW_TIMER, anchorMs: envelope.atMs, delayMs: control.timeoutMs },
    }),
    ...(control.dispatch !== undefined && { dispatch: control.dispatch }),
    undo: null,
    position: 1 as Position,
    lamport: envelope.lamport,
    openedAtMs: envelope.atMs,
    updatedAtMs: envelope.atMs,
    head: { sequence: ZERO.sequence, checkpoint: null, atMs: envelope.atMs },
    beliefSequence: ZERO.sequence,
    epoch: ZERO.epoch,
    lease: null,
    isUnsettled: false,
    crashCount: 0,
    crashTimesMs: [],
    budgetFrom: ZERO.sequence,
    frontier,
    signals: [],
    inbox: [envelope.id],
    ...(control.continues !== undefined && openContinued(control.continues, frontier, envelope)),
    tokens: 0,
    costMicros: 0,
    lastAction: '',
    unreadable: readable ? null : { offset: at, type: envelope.type, v: control.rules },
    closedInGeneration: null,
  };
}

/** Stops only the stream of the entry; the partition continues. */
function parkUnreadable(state: PartitionState, entry: LogEntry & { readonly kind: 'unknown' }, at: Offset): FoldStep {
  const stream = state.streams.get(entry.workflow);
  if (stream === undefined || stream.generation !== entry.generation) {
    return { state, verdict: rejected('wrong-generation') };
  }
  if (isClosed(stream)) return { state, verdict: rejected('closed') };
  if (stream.unreadable !== null) return { state, verdict: { kind: 'unreadable' } };
  const parked: StreamState = { ...stream, unreadable: { offset: at, type: entry.type, v: entry.v } };
  return {
    state: { ...state, streams: new Map(state.streams).set(entry.workflow, parked) },
    verdict: { kind: 'unreadable' },
  };
}

/** As `foldEntry`, for readers that copy or show history and decide nothing: a record that would stop its stream is skipped. */
export function foldPassing(state: PartitionState, entry: LogEntry): FoldStep {
  const step = foldEntry(state, entry);
  if (entry.kind !== 'event' || step.verdict.kind !== 'unreadable') return step;
  return { ...step, state: { ...state, next: step.state.next } };
}

export interface FoldBatch {
  readonly state: PartitionState;
  /** The verdicts, one for each entry, in order. */
  readonly verdicts: readonly Verdict[];
}

/** Folds consecutive entries, the first at `state.next`. */
export function foldEntries(state: PartitionState, entries: readonly LogEntry[]): FoldBatch {
  let current = state;
  const verdicts = entries.map((entry) => {
    const step = foldEntry(current, entry);
    current = step.state;
    return step.verdict;
  });
  return { state: current, verdicts };
}
