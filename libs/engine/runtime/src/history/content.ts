/**
 * Owns what a holder knows of its stream's payloads: belief, inputs of pending tasks, journaled outcomes, values of signals. It derives
 * them from the payloads of the snapshot and of the events after it, as the fold derives control state. It decides nothing: the fold has
 * already accepted each event.
 */

import { decodePayload, type ErrorNote, type ForkOrigin, type Payloads } from '@tidemark/codec';
import {
  applyDelta,
  type Cause,
  CorruptError,
  type Delta,
  type EffectKey,
  type Envelope,
  type EventEntry,
  type EventId,
  type Json,
  type Resolution,
  type Sequence,
  type StreamState,
  snapshotDue,
  streamFromJson,
  type TaskId,
  type TaskState,
  taskId,
  taskOrder,
  ZERO,
} from '@tidemark/core';
import type { Digest, ProjectionStore, StreamSnapshot, WorkflowListing, WorkflowSummary } from '@tidemark/ports';
import { type Definition, hasBegun, ParkError, type RecordedPrompt } from '../definition/index.ts';
import { isForgotten, sha256Digest } from '../kernel/index.ts';
import { type Draft, parkDraft } from '../lease/index.ts';
import { answerTexts } from './context-shapes.ts';
import { SHARED_TEXT_MIN_CHARS } from './limits.ts';
import { orPark, upcastBelief, upcastInput } from './versions.ts';
import { WorkflowContext } from './workflow-context.ts';

export type JournalEntry =
  | ({ readonly status: 'intended'; readonly request: Json } & RecordedPrompt)
  | { readonly status: 'pending' }
  | { readonly status: 'done'; readonly response: Json }
  | { readonly status: 'failed'; readonly error: ErrorNote };

/** What is known of a checkpoint beside its payload. */
interface Stored {
  readonly sequence: Sequence;
  readonly stepVersion: number;
  readonly bytes: number;
}

export class StreamContent {
  /** The workflow's own input. */
  input: Json = null;
  belief: Json = null;
  /** Undefined: the workflow is no fork. */
  fork: ForkOrigin | undefined;
  /** Fragments, trace and working memory. */
  readonly context: WorkflowContext;
  /** The workflow's key was destroyed while it was open: the content that it needs to resume is gone for good. */
  isForgotten = false;
  /** Bytes of the newest belief snapshot, and of the deltas since. */
  snapshotBytes = 0;
  deltaBytes = 0;
  /** Versions of the definition that stored the workflow's input and its belief. */
  #inputVersion = 0;
  #beliefVersion = 0;
  /** An upcast changed `belief`, so deltas in the log no longer apply to it: the next checkpoint that changes belief stores a snapshot. */
  #isUpcast = false;
  readonly #inputs = new Map<TaskId, { readonly input: Json; readonly version: number }>();
  readonly #journal = new Map<EffectKey, JournalEntry>();
  readonly #causes = new Map<EventId, Json>();
  /** Of a fork: tasks committed since the claim, by checkpoint. */
  readonly #committed = new Map<Sequence, TaskId>();
  /** Effects that wait for confirmation, by their receivers' tokens. */
  readonly #tokens = new Map<string, EffectKey>();
  /** The effect that the open question is about. */
  #questionKey: EffectKey | null = null;

  constructor(context = new WorkflowContext(ZERO.sequence, sha256Digest)) {
    this.context = context;
  }

  /** From the rows of one snapshot; `state` is the stream in the same rows. */
  static from(snapshot: StreamSnapshot, state: StreamState, digest: Digest = sha256Digest): StreamContent {
    const content = new StreamContent(new WorkflowContext(state.head.sequence, digest));
    for (const checkpoint of snapshot.checkpoints) {
      const { sequence, stepVersion, payload } = checkpoint;
      if (isForgotten(checkpoint)) content.isForgotten = true;
      else if (sequence === 0) content.#open(decodePayload('WorkflowOpened', payload), stepVersion);
      else {
        const stored: Stored = { sequence, stepVersion, bytes: payload.length };
        content.#restore(stored, decodePayload('CheckpointCommitted', payload), state);
      }
    }
    for (const task of state.frontier.tasks) {
      if (!content.#inputs.has(task.id) && !content.isForgotten) {
        throw new CorruptError('rows-incomplete', `Workflow ${snapshot.workflow}: no input for its task ${task.id}.`, {
          workflow: snapshot.workflow,
          task: task.id,
        });
      }
    }
    for (const { key, status, payload } of snapshot.effects) content.journaled(key, journalEntry(status, payload));
    for (const { event, payload } of snapshot.causes) {
      content.#causes.set(event, decodePayload('SignalReceived', payload)?.value ?? null);
    }
    for (const { effects } of state.frontier.tasks) {
      for (const { key, pending } of effects) if (pending !== null) content.#tokens.set(pending.token, key);
    }
    content.#questionKey = state.question?.key ?? null;
    content.#dropDone(state);
    return content;
  }

  /** From all events of the stream, the opening first. */
  static since(events: readonly EventEntry[], digest: Digest): StreamContent {
    const content = new StreamContent(new WorkflowContext(ZERO.sequence, digest));
    for (const { envelope, payload } of events) content.apply(envelope, payload);
    return content;
  }

  inputOf(task: TaskId): Json {
    return this.#inputs.get(task)?.input ?? null;
  }

  /** The version of the definition that added the task. */
  versionOf(task: TaskId): number {
    return this.#inputs.get(task)?.version ?? 0;
  }

  get inputVersion(): number {
    return this.#inputVersion;
  }

  get beliefVersion(): number {
    return this.#beliefVersion;
  }

  /** Whether the next change of belief must be stored as a snapshot, not as a delta. */
  get snapshotDue(): boolean {
    return this.#isUpcast || snapshotDue(this.deltaBytes, this.snapshotBytes);
  }

  /**
   * Converts what older versions stored to this version, once, after the claim. What has not begun has no belief yet. Throws `ParkError`
   * (`belief-not-upcast`, `input-not-upcast`), and then changes nothing.
   */
  upcast(definition: Definition, state: Pick<StreamState, 'frontier'>): void {
    const [from, began] = [this.#beliefVersion, this.#inputVersion];
    const belief = orPark(definition, from, 'belief', 'belief-not-upcast', () =>
      hasBegun(state) ? upcastBelief(definition, from, this.belief) : this.belief,
    );
    this.input = orPark(definition, began, 'input', 'input-not-upcast', () =>
      upcastInput(definition, began, this.input),
    );

    this.belief = belief;
    this.#isUpcast = from < definition.version;
    this.#beliefVersion = definition.version;
    this.#inputVersion = definition.version;
  }

  journalOf(key: EffectKey): JournalEntry | undefined {
    return this.#journal.get(key);
  }

  causeOf(event: EventId): Json {
    return this.#causes.get(event) ?? null;
  }

  /** The task of a fork's checkpoint, if it was committed since the claim. */
  taskOf(sequence: Sequence): TaskId | undefined {
    return this.#committed.get(sequence);
  }

  /** The cause of the task, with its value, from this workflow or from the base that it was forked from. */
  givenTo({ id, cause }: Pick<TaskState, 'id' | 'cause'>): (Cause & { readonly value: Json }) | null {
    if (cause !== null) return { ...cause, value: this.causeOf(cause.event) };
    const [sequence, index] = taskOrder(id);
    return (sequence === 0 ? this.fork?.tasks[index]?.cause : undefined) ?? null;
  }

  /** Applies an accepted event. */
  apply(envelope: Envelope, payload: Uint8Array): void {
    switch (envelope.type) {
      case 'WorkflowOpened': {
        const opening = decodePayload(envelope.type, payload);
        this.#open(opening, envelope.control.version);
        this.context.opened(opening.fragments);
        return;
      }
      case 'SignalReceived':
      case 'ApprovalGiven':
      case 'ChildClosed':
        this.#causes.set(envelope.id, decodePayload(envelope.type, payload).value);
        return;
      case 'EffectPending':
        this.awaits(envelope.control.key, envelope.control.token);
        return;
      case 'EffectConfirmed':
        this.#confirm(envelope.control, payload);
        return;
      case 'WorkflowParked':
        this.#questionKey = envelope.control.key;
        return;
      case 'ApprovalDecided':
        this.#decide(envelope.control.resolution, payload);
        return;
      case 'EffectIntended':
        this.#journal.set(envelope.control.key, journalEntry('intended', payload));
        return;
      case 'EffectResolved':
        this.journaled(
          envelope.control.key,
          journalEntry(envelope.control.outcome, payload),
          envelope.control.hasContext === true,
        );
        return;
      case 'CheckpointCommitted':
        this.committed(envelope.control, decodePayload(envelope.type, payload), payload.length);
        return;
      default:
        return;
    }
  }

  /** Applies a checkpoint whose payload has this many bytes. */
  committed(
    control: Pick<
      Envelope<'CheckpointCommitted'>['control'],
      'sequence' | 'stepVersion' | 'task' | 'drops' | 'step' | 'lastAction'
    >,
    payload: Payloads['CheckpointCommitted'],
    payloadBytes: number,
  ): void {
    const { sequence, stepVersion } = control;
    if (this.fork !== undefined) this.#committed.set(sequence, control.task);
    this.#believe({ sequence, stepVersion, bytes: payloadBytes }, payload);
    this.#addInputs(sequence, payload.tasks, stepVersion);
    for (const gone of [control.task, ...(control.drops ?? [])]) this.#inputs.delete(gone);
    this.context.committed(control, payload);
  }

  /** Records that the effect waits for its confirmation under the token. If two effects share a token, it belongs to the first. */
  awaits(key: EffectKey, token: string): void {
    this.#journal.set(key, { status: 'pending' });
    if (!this.#tokens.has(token)) this.#tokens.set(token, key);
  }

  /** Keys of the effects that are recorded as done, in the order of the log. */
  outcomes(): readonly EffectKey[] {
    return [...this.#journal].flatMap(([key, { status }]) => (status === 'done' ? [key] : []));
  }

  /** Behind all that were known before. */
  #setOutcome(key: EffectKey, entry: JournalEntry): void {
    this.#journal.delete(key);
    this.#journal.set(key, entry);
  }

  /** `hasContext`: the effect's event has context, so rows have the texts of its answer. */
  journaled(key: EffectKey, entry: JournalEntry, hasContext = false): void {
    this.#setOutcome(key, entry);
    if (entry.status !== 'done' || !hasContext) return;
    for (const text of answerTexts(entry, SHARED_TEXT_MIN_CHARS)) this.context.keep(text);
  }

  /** Drops the journal of a task that is done. */
  forget(keys: Iterable<EffectKey>): void {
    for (const key of keys) this.#journal.delete(key);
  }

  #confirm({ token, outcome }: Envelope<'EffectConfirmed'>['control'], payload: Uint8Array): void {
    const key = this.#tokens.get(token);
    if (key === undefined) return;
    this.#tokens.delete(token);
    this.#setOutcome(key, journalEntry(outcome, payload));
  }

  #decide(resolution: Resolution, payload: Uint8Array): void {
    const key = this.#questionKey;
    this.#questionKey = null;
    if (key === null) return;
    if (resolution === 'done') this.#setOutcome(key, journalEntry('done', payload));
    else if (resolution === 'not-done') this.#setOutcome(key, journalEntry('failed', payload));
  }

  #open(payload: Payloads['WorkflowOpened'], version: number): void {
    this.input = payload.input;
    this.belief = payload.belief;
    this.snapshotBytes = JSON.stringify(payload.belief).length;
    this.deltaBytes = 0;
    this.#inputVersion = payload.fork?.inputVersion ?? version;
    this.#beliefVersion = payload.fork?.beliefVersion ?? version;
    this.#addInputs(0 as Sequence, payload.tasks, version);
    for (const [event, value] of Object.entries(payload.signals ?? {})) this.#causes.set(event as EventId, value);
    if (payload.fork === undefined) return;
    this.fork = payload.fork;
    this.context.forkedFrom(payload.fork);
    for (const [index, task] of payload.fork.tasks.entries()) {
      this.#inputs.set(taskId(0, index), { input: payload.tasks[index] ?? null, version: task.version });
    }
  }

  #restore(stored: Stored, payload: Payloads['CheckpointCommitted'], state: StreamState): void {
    // A checkpoint from before the newest snapshot is loaded only for the inputs of its tasks.
    if (stored.sequence >= state.beliefSequence) this.#believe(stored, payload);
    this.#addInputs(stored.sequence, payload.tasks, stored.stepVersion);
  }

  #believe({ stepVersion, bytes }: Stored, payload: Payloads['CheckpointCommitted']): void {
    if (payload.snapshot !== undefined) {
      this.belief = payload.snapshot;
      this.snapshotBytes = bytes;
      this.deltaBytes = 0;
      this.#isUpcast = false;
    } else if (payload.delta !== undefined) {
      this.belief = applyDelta(this.belief, payload.delta as Delta);
      this.deltaBytes += bytes;
    } else return;
    this.#beliefVersion = stepVersion;
  }

  #addInputs(sequence: Sequence, inputs: readonly Json[], version: number): void {
    for (const [index, input] of inputs.entries()) this.#inputs.set(taskId(sequence, index), { input, version });
  }

  #dropDone(state: StreamState): void {
    for (const task of this.#inputs.keys()) {
      if (taskOrder(task)[0] <= state.head.sequence && state.frontier.tasks.get(task) === undefined) {
        this.#inputs.delete(task);
      }
    }
  }
}

export const promptOf = ({ bundle, sent }: RecordedPrompt = {}): RecordedPrompt => ({
  ...(bundle !== undefined && { bundle }),
  ...(sent !== undefined && { sent }),
});

/** The journal entry of a recorded event. */
export function journalEntry(status: string, payload: Uint8Array | string): JournalEntry {
  if (status === 'intended') {
    const intended = decodePayload('EffectIntended', payload);
    return { status, request: intended.request, ...promptOf(intended) };
  }
  if (status === 'pending') return { status };
  // A person's decision has a reason in place of an error.
  const outcome: { response?: Json; error?: ErrorNote; why?: string } = decodePayload('EffectResolved', payload);
  if (status === 'done') return { status, response: outcome.response ?? null };
  return { status: 'failed', error: outcome.error ?? { name: 'NotDoneError', message: outcome.why ?? '' } };
}

/**
 * Converts belief and input of a claimed stream to this version. Returns the event that parks the workflow when they can't be converted
 * (V3).
 */
export function contentDraft(
  definition: Definition,
  content: StreamContent,
  state: Pick<StreamState, 'frontier'>,
  effects: { hideSecrets(of: string, error: unknown): unknown },
): Draft | undefined {
  try {
    content.upcast(definition, state);
    return undefined;
  } catch (error) {
    if (!(error instanceof ParkError)) throw error;
    return parkDraft(effects.hideSecrets('upcast', error) as ParkError, null);
  }
}

export interface WorkflowContents<Row = WorkflowSummary> {
  readonly row: Row;
  readonly content: StreamContent;
}

/** What listed workflows hold, such as schedules. In the rows' order; without those that rows lost in between. */
export async function withContents<Row extends WorkflowListing>(
  store: Pick<ProjectionStore, 'loadStreams'>,
  rows: readonly Row[],
): Promise<readonly WorkflowContents<Row>[]> {
  const snapshots = await store.loadStreams(rows.map(({ workflow }) => workflow));
  const found = new Map(snapshots.map((snapshot) => [snapshot.workflow, snapshot]));
  return rows.flatMap((row) => {
    const snapshot = found.get(row.workflow);
    if (snapshot === undefined) return [];
    return [{ row, content: StreamContent.from(snapshot, streamFromJson(snapshot.state, snapshot.tasks)) }];
  });
}
