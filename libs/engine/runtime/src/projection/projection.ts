/**
 * Owns the rows that follow from folding a stretch of the log. Pure, so the same prefix gives the same rows on every adapter and in any
 * batching (I5). Payloads stay in the log; rows have their places. It reads and writes nothing.
 */

import { historyClosed, payloadText, recordUnreadable, SEALED_VERSION } from '@tidemark/codec';
import type { Partition } from '@tidemark/core';
import {
  type Envelope,
  type EventEntry,
  eventId,
  foldEntry,
  foldPassing,
  isClosed,
  type LogEntry,
  NO_SPEND,
  type Offset,
  type PartitionState,
  type Position,
  plusSpend,
  type Sequence,
  type StreamState,
  TaskList,
  type TaskState,
  timersOf,
  type Verdict,
  type WorkflowId,
} from '@tidemark/core';
import type {
  CheckpointRow,
  Digest,
  EffectRow,
  EventRow,
  OpenedRow,
  PartitionAdvance,
  ProjectionBatch,
  RecordPlace,
  RejectedRow,
  StreamRow,
  TaskRow,
  TimerRow,
} from '@tidemark/ports';
import type { ArchivedWorkflow } from '@tidemark/segments';
import { sha256Digest } from '../kernel/index.ts';
import { ContextRows } from './context-rows.ts';
import { acceptedEvent, type FoldedEvent } from './folded-event.ts';
import { type LifecycleEvent, lifecycleEvent } from './lifecycle-metrics.ts';
import { NOTHING_OMITTED, type Omitted } from './omitted-history.ts';
import { type EffectEnvelope, effectOf } from './projected-effect.ts';
import { streamRow, taskRow } from './stream-rows.ts';

/** A cheap check whether a task may wait for a timer, because it runs for every changed task, and most wait for nothing. */
const waitsForTimer = (task: TaskState | undefined): boolean =>
  task !== undefined && (task.retry !== null || task.when.length > 0 || task.effects.length > 0);

/** NUL cannot occur in an id. */
const rowKey = (workflow: WorkflowId, name: string): string => `${workflow}\0${name}`;

/** The stream that the entry changed, if any. */
function changedStream(before: PartitionState, after: PartitionState, entry: LogEntry): StreamState | undefined {
  if (entry.kind === 'malformed') return undefined;
  const workflow = entry.kind === 'event' ? entry.envelope.workflow : entry.workflow;
  const stream = after.streams.get(workflow);
  return stream === before.streams.get(workflow) ? undefined : stream;
}

type Opening = EventEntry & { readonly envelope: Envelope<'WorkflowOpened'> };
type RecordPosition = Omit<RecordPlace, 'bytes'>;

interface Folded {
  readonly entry: LogEntry;
  readonly verdict: Verdict;
  readonly omitted: Omitted;
}

const isEnd = ({ type }: Envelope): boolean =>
  type === 'WorkflowCompleted' ||
  type === 'WorkflowFailed' ||
  type === 'WorkflowTerminated' ||
  type === 'WorkflowReset' ||
  type === 'CompensationFinished';

/** Collects the rows of one projection transaction. */
export class ProjectionBuilder {
  readonly #partitions: PartitionAdvance[] = [];
  readonly #opened: OpenedRow[] = [];
  readonly #streams: StreamRow[] = [];
  readonly #closed: { workflow: WorkflowId; partition: StreamRow['partition']; result: string }[] = [];
  readonly #tasksPut: TaskRow[] = [];
  readonly #tasksGone: { workflow: WorkflowId; task: TaskState['id'] }[] = [];
  readonly #checkpoints: CheckpointRow<RecordPlace>[] = [];
  readonly #effects = new Map<string, EffectRow<RecordPlace>>();
  readonly #events: EventRow<RecordPlace>[] = [];
  readonly #timersPut = new Map<string, TimerRow>();
  readonly #timersGone: { workflow: WorkflowId; timer: string }[] = [];
  readonly #rejected: RejectedRow[] = [];
  readonly #archived = new Set<WorkflowId>();
  readonly #context: ContextRows;
  readonly #passes: boolean;
  entryCount = 0;
  /** Collects accepted events when it is set. */
  accepted: FoldedEvent[] | undefined;
  /** Collects events that metrics count when it is set. */
  lifecycle: LifecycleEvent[] | undefined;

  /** `passes`: the fold skips what would stop a stream; for past history. */
  constructor(digest: Digest = sha256Digest, { passes = false } = {}) {
    this.#context = new ContextRows(digest);
    this.#passes = passes;
  }

  /**
   * Folds entries that begin at `state.next`, and returns the state after them. It creates no rows of omitted history. `inRows`: the
   * streams as rows have them, where that differs from the state before.
   */
  fold(
    before: PartitionState,
    entries: readonly LogEntry[],
    omitted: Omitted = NOTHING_OMITTED,
    inRows = before.streams,
  ): PartitionState {
    let state = before;
    // The newest state of each changed stream, also of one that closed and was followed by another in the partition.
    const touched = new Map<WorkflowId, StreamState>();
    for (const entry of entries) {
      const earlier = state;
      const step = this.#passes ? foldPassing(state, entry) : foldEntry(state, entry);
      state = step.state;
      this.#row(earlier, state, { entry, verdict: step.verdict, omitted });
      const accepted = this.accepted && acceptedEvent(earlier, state, entry, step.verdict);
      if (accepted !== undefined) this.accepted?.push(accepted);
      const counted = this.lifecycle && lifecycleEvent(earlier, state, entry, step.verdict);
      if (counted !== undefined) this.lifecycle?.push(counted);
      const stream = changedStream(earlier, state, entry);
      if (stream !== undefined) touched.set(stream.workflow, stream);
    }
    this.entryCount += entries.length;
    if (inRows !== before.streams) {
      for (const [id, stream] of before.streams) touched.set(id, touched.get(id) ?? stream);
    }
    for (const stream of touched.values()) {
      this.#stream(inRows.get(stream.workflow), stream, state.partition);
      if (omitted.has(stream.workflow)) this.#archived.add(stream.workflow);
    }
    this.#partitions.push({
      partition: state.partition,
      from: before.next,
      to: state.next,
      generation: state.generation,
    });
    return state;
  }

  /**
   * Skips a stretch that was deleted for good: its manifest has the state after it and its workflows. Their ids stay taken; their history
   * and memories are gone.
   */
  skip(before: PartitionState, after: PartitionState, workflows: readonly ArchivedWorkflow[]): void {
    const { partition } = after;
    for (const { ended, session } of workflows) {
      if (ended === null) continue;
      const { workflow, tenant, generation, status } = ended;
      this.#opened.push({ workflow, tenant, partition, generation, session, event: eventId(`deleted:${workflow}`) });
      const kept = after.streams.get(workflow);
      this.#streams.push(kept === undefined ? { ...ended, state: '' } : streamRow(kept, partition));
      this.#closed.push({ workflow, partition, result: status === 'completed' ? '{"output":null}' : '{}' });
    }
    this.#partitions.push({ partition, from: before.next, to: after.next, generation: after.generation });
  }

  /** Adds the rows of an opening that has become readable, for a stream that already has its own row. */
  readAtLast(stream: StreamState, entry: Opening, place: RecordPosition): void {
    this.#context.add(stream, entry, false);
    this.#first(entry, place);
  }

  batch(): ProjectionBatch {
    const context = this.#context.batch();
    return {
      partitions: this.#partitions,
      opened: this.#opened,
      streams: this.#streams,
      closed: this.#closed,
      tasksPut: this.#tasksPut,
      tasksGone: this.#tasksGone,
      checkpoints: this.#checkpoints,
      effects: [...this.#effects.values()],
      events: this.#events,
      timersPut: [...this.#timersPut.values()],
      timersGone: this.#timersGone,
      rejected: this.#rejected,
      ...(context !== undefined && { context }),
      ...(this.#context.memories.length > 0 && { memories: this.#context.memories }),
      ...(this.#archived.size > 0 && { archived: this.#archived }),
    };
  }

  /** Rows of one stream's state, from the batch's start to its end; what came and went in between has none. */
  #stream(before: StreamState | undefined, after: StreamState, partition: StreamRow['partition']): void {
    const { workflow } = after;
    this.#streams.push(streamRow(after, partition));
    if (isClosed(after)) return;
    this.#deadline(before?.generation === after.generation ? before.deadline : undefined, after, partition);
    const tasks = before?.generation === after.generation ? before.frontier.tasks : TaskList.empty<TaskState>();
    const { put, gone } = after.frontier.tasks.changesSince(tasks);
    const waited: TaskState[] = [];
    for (const task of put) if (waitsForTimer(tasks.get(task.id))) waited.push(tasks.get(task.id)!);
    for (const task of gone) if (waitsForTimer(tasks.get(task))) waited.push(tasks.get(task)!);
    if (waited.length > 0) this.#timersLeft(after, waited);
    for (const task of put) {
      this.#tasksPut.push(taskRow(workflow, task));
      if (!waitsForTimer(task)) continue;
      for (const { timer, anchorMs, delayMs } of timersOf(task)) {
        this.#timersPut.set(rowKey(workflow, timer), { workflow, timer, partition, dueAtMs: anchorMs + delayMs });
      }
    }
    for (const task of gone) this.#tasksGone.push({ workflow, task });
  }

  #deadline(
    before: StreamState['deadline'],
    { workflow, deadline }: StreamState,
    partition: StreamRow['partition'],
  ): void {
    if (before?.timer === deadline?.timer) return;
    if (before !== undefined) this.#timersGone.push({ workflow, timer: before.timer });
    if (deadline === undefined) return;
    const { timer, anchorMs, delayMs } = deadline;
    this.#timersPut.set(rowKey(workflow, timer), { workflow, timer, partition, dueAtMs: anchorMs + delayMs });
  }

  /** Removes timers that no task waits for any more. A timer's row remains as long as some task waits for it. */
  #timersLeft(stream: StreamState, changed: readonly TaskState[]): void {
    const left = new Set(changed.flatMap((task) => timersOf(task).map(({ timer }) => timer)));
    for (const task of stream.frontier.tasks) for (const { timer } of timersOf(task)) left.delete(timer);
    for (const timer of left) this.#timersGone.push({ workflow: stream.workflow, timer });
  }

  #row(before: PartitionState, state: PartitionState, { entry, verdict, omitted }: Folded): void {
    const at = before.next;
    if (verdict.kind === 'rejected' && !omitted.hasRejected(at))
      this.#rejected.push(rejectedRow(state.partition, entry, verdict.reason, at));
    if (verdict.kind === 'unreadable') this.#stopped(state, entry, at);
    if (verdict.kind !== 'accepted' || entry.kind !== 'event') return;
    const { envelope } = entry;
    if (entry.problem !== undefined) {
      // The fold accepts only an opening in this state: the stream stops there, and its content follows once it can be read.
      if (envelope.type !== 'WorkflowOpened') return;
      if (this.#passes) throw recordUnreadable(entry);
      this.#open(state, envelope);
      omitted.opened(envelope.workflow);
      this.#stopped(state, entry, at);
      return;
    }
    if (envelope.v === SEALED_VERSION) throw historyClosed(envelope.type, entry.payload);
    const stream = state.streams.get(envelope.workflow);
    if (envelope.type === 'WorkflowOpened') {
      this.#open(state, envelope);
      omitted.opened(envelope.workflow);
    }
    const isOmitted = omitted.has(envelope.workflow);
    if (stream !== undefined) this.#context.add(stream, entry, isOmitted);
    if (isEnd(envelope)) this.#close(state, envelope, entry.payload);
    if (!isOmitted) this.#history(before, state, entry, verdict.position);
  }

  /** A record that stops a stream until a person judges it is kept as evidence and counted, like a rejected one. */
  #stopped(state: PartitionState, entry: LogEntry, at: Offset): void {
    if (entry.kind !== 'event') return;
    const { offset, problem } = state.streams.get(entry.envelope.workflow)?.unreadable ?? {};
    if (problem !== undefined && offset === at) this.#rejected.push(rejectedRow(state.partition, entry, problem, at));
  }

  #history(before: PartitionState, state: PartitionState, entry: EventEntry, position: Position): void {
    const { envelope, payload } = entry;
    const at = before.next;
    const place = { partition: state.partition, offset: at, bytes: payload.length };
    switch (envelope.type) {
      case 'WorkflowOpened':
        this.#first({ ...entry, envelope }, place);
        return;
      case 'CheckpointCommitted':
        this.#checkpoint(envelope, position, at, place);
        return;
      case 'EffectIntended':
      case 'EffectPending':
      case 'EffectResolved':
        this.#effect(state, envelope, position, place);
        return;
      case 'EffectConfirmed':
      case 'ApprovalDecided':
        this.#effect(before, envelope, position, place);
        break;
      case 'PartitionFenced':
      case 'LeaseClaimed':
      case 'LeaseReleased':
      case 'CheckpointReserved':
        return;
    }
    this.#event(envelope, position, at, place);
  }

  #open(
    { partition }: PartitionState,
    { id, workflow, tenant, generation, control }: Envelope<'WorkflowOpened'>,
  ): void {
    this.#opened.push({ workflow, tenant, partition, generation, session: control.session ?? null, event: id });
  }

  #close({ partition }: PartitionState, { workflow }: Envelope, payload: Uint8Array): void {
    this.#closed.push({ workflow, partition, result: payloadText(payload) });
  }

  #first({ envelope, payload }: Opening, place: RecordPosition): void {
    const { workflow } = envelope;
    this.#checkpoints.push({
      workflow,
      sequence: 0 as Sequence,
      ...{ checkpoint: null, parent: null, task: null, step: null },
      stepVersion: envelope.control.version,
      inputDigest: envelope.control.inputDigest,
      belief: 'snapshot',
      ...NO_SPEND,
      lastAction: '',
      supersedes: null,
      epoch: envelope.epoch,
      holder: envelope.holder,
      position: 1 as CheckpointRow['position'],
      offset: place.offset,
      lamport: envelope.lamport,
      atMs: envelope.atMs,
      payload: { ...place, bytes: payload.length },
    });
  }

  #checkpoint(
    envelope: Envelope<'CheckpointCommitted'>,
    position: CheckpointRow['position'],
    offset: Offset,
    payload: RecordPlace,
  ): void {
    const { control } = envelope;
    this.#checkpoints.push({
      workflow: envelope.workflow,
      sequence: control.sequence,
      checkpoint: control.checkpoint,
      parent: control.parent,
      task: control.task,
      step: control.step,
      stepVersion: control.stepVersion,
      inputDigest: control.inputDigest,
      belief: control.belief,
      ...plusSpend(control, undefined),
      lastAction: control.lastAction,
      supersedes: control.supersedes,
      epoch: envelope.epoch,
      holder: envelope.holder,
      position,
      offset,
      lamport: envelope.lamport,
      atMs: envelope.atMs,
      payload,
    });
  }

  /**
   * `at`: the state in which the event's effect is found. Events of a call name its key, so this is the state after them. Confirmations and
   * decisions name a token or a question, which only the state before them has.
   */
  #effect(at: PartitionState, envelope: EffectEnvelope, position: EffectRow['position'], payload: RecordPlace): void {
    const stream = at.streams.get(envelope.workflow);
    const found = stream === undefined ? undefined : effectOf(stream, envelope);
    if (found === undefined) return;
    const { task, effect } = found;
    const key = rowKey(envelope.workflow, effect.key);
    this.#effects.set(key, {
      workflow: envelope.workflow,
      key: effect.key,
      task,
      operation: effect.operation,
      kind: effect.kind,
      status: effect.status,
      requestDigest: effect.requestDigest,
      responseDigest: effect.responseDigest,
      position,
      atMs: envelope.atMs,
      payload,
      request: envelope.type === 'EffectIntended' ? payload : (this.#effects.get(key)?.request ?? null),
    });
  }

  #event(envelope: Envelope, position: EventRow['position'], offset: Offset, payload: RecordPlace): void {
    this.#events.push({
      workflow: envelope.workflow,
      position,
      event: envelope.id,
      type: envelope.type,
      epoch: envelope.epoch,
      holder: envelope.holder,
      lamport: envelope.lamport,
      offset,
      atMs: envelope.atMs,
      control: JSON.stringify(envelope.control),
      payload,
    });
  }
}

const EVIDENCE_MAX_CHARS = 2_000;

/** `evidence` describes the record, and never has any of its payload. */
function rejectedRow(partition: Partition, entry: LogEntry, reason: string, offset: Offset): RejectedRow {
  if (entry.kind === 'malformed') {
    const evidence = entry.problem.slice(0, EVIDENCE_MAX_CHARS);
    return { partition, offset, workflow: null, type: null, reason, evidence, atMs: 0 };
  }
  if (entry.kind === 'unknown') {
    const { workflow, type, v, generation } = entry;
    return { partition, offset, workflow, type, reason, evidence: JSON.stringify({ v, generation }), atMs: 0 };
  }
  const { workflow, type, id, generation, epoch, holder, ordinal, lamport, control, atMs } = entry.envelope;
  const evidence = JSON.stringify({ id, generation, epoch, holder, ordinal, lamport, control });
  return { partition, offset, workflow, type, reason, evidence: evidence.slice(0, EVIDENCE_MAX_CHARS), atMs };
}
