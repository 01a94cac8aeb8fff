/**
 * Owns what a holder knows of its stream's payloads: belief, inputs of pending tasks, journaled outcomes, values of signals.
 * It follows from the snapshot's payloads and the events after it, as control state follows from controls. Must not decide
 * anything; the fold has decided before.
 */

import { decodePayload, type ErrorNote, type Payloads } from '@tidemark/codec';
import {
  applyDelta,
  CorruptError,
  type Delta,
  type EffectKey,
  type Envelope,
  type EventId,
  type Json,
  type Sequence,
  type StreamState,
  type TaskId,
  taskId,
  taskOrder,
} from '@tidemark/core';
import type { StreamSnapshot } from '@tidemark/ports';

export type JournalEntry =
  | { readonly status: 'intended'; readonly request: Json }
  | { readonly status: 'done'; readonly response: Json }
  | { readonly status: 'failed'; readonly error: ErrorNote };

export class StreamContent {
  /** The workflow's own input. */
  input: Json = null;
  belief: Json = null;
  /** Bytes of the newest belief snapshot, and of the deltas after it. */
  snapshotBytes = 0;
  deltaBytes = 0;
  readonly #inputs = new Map<TaskId, Json>();
  readonly #journal = new Map<EffectKey, JournalEntry>();
  readonly #causes = new Map<EventId, Json>();

  /** From rows of one snapshot; `state` is the stream as those rows have it. */
  static from(snapshot: StreamSnapshot, state: StreamState): StreamContent {
    const content = new StreamContent();
    for (const { sequence, payload } of snapshot.checkpoints) {
      if (sequence === 0) content.#open(decodePayload('WorkflowOpened', payload));
      else content.#restore(sequence, decodePayload('CheckpointCommitted', payload), payload.length, state);
    }
    for (const task of state.frontier.tasks) {
      if (!content.#inputs.has(task.id)) {
        throw new CorruptError('rows-incomplete', `Workflow ${snapshot.workflow}: no input for its task ${task.id}.`, {
          workflow: snapshot.workflow,
          task: task.id,
        });
      }
    }
    for (const { key, status, payload } of snapshot.effects) content.#journal.set(key, journalEntry(status, payload));
    for (const { event, payload } of snapshot.causes) {
      content.#causes.set(event, decodePayload('SignalReceived', payload)?.value ?? null);
    }
    content.#dropDone(state);
    return content;
  }

  inputOf(task: TaskId): Json {
    return this.#inputs.get(task) ?? null;
  }

  journalOf(key: EffectKey): JournalEntry | undefined {
    return this.#journal.get(key);
  }

  causeOf(event: EventId): Json {
    return this.#causes.get(event) ?? null;
  }

  /** Follows an accepted event. */
  apply(envelope: Envelope, payload: Uint8Array): void {
    switch (envelope.type) {
      case 'WorkflowOpened':
        this.#open(decodePayload(envelope.type, payload));
        return;
      case 'SignalReceived':
        this.#causes.set(envelope.id, decodePayload(envelope.type, payload).value);
        return;
      case 'EffectIntended':
        this.#journal.set(envelope.control.key, journalEntry('intended', payload));
        return;
      case 'EffectResolved':
        this.#journal.set(envelope.control.key, journalEntry(envelope.control.outcome, payload));
        return;
      case 'CheckpointCommitted':
        this.committed(envelope.control, decodePayload(envelope.type, payload), payload.length);
        return;
      default:
        return;
    }
  }

  /** Follows a checkpoint, whose payload has this many bytes. */
  committed(
    control: Pick<Envelope<'CheckpointCommitted'>['control'], 'sequence' | 'task'>,
    payload: Payloads['CheckpointCommitted'],
    payloadBytes: number,
  ): void {
    this.#believe(payload, payloadBytes);
    this.#addInputs(control.sequence, payload.tasks);
    this.#inputs.delete(control.task);
  }

  journaled(key: EffectKey, entry: JournalEntry): void {
    this.#journal.set(key, entry);
  }

  /** A done task's journal is history. */
  forget(keys: Iterable<EffectKey>): void {
    for (const key of keys) this.#journal.delete(key);
  }

  #open(payload: Payloads['WorkflowOpened']): void {
    this.input = payload.input;
    this.belief = payload.belief;
    this.snapshotBytes = JSON.stringify(payload.belief).length;
    this.deltaBytes = 0;
    this.#addInputs(0 as Sequence, payload.tasks);
  }

  #restore(sequence: Sequence, payload: Payloads['CheckpointCommitted'], bytes: number, state: StreamState): void {
    // A checkpoint from before the newest snapshot is here for the inputs of its tasks alone.
    if (sequence >= state.beliefSequence) this.#believe(payload, bytes);
    this.#addInputs(sequence, payload.tasks);
  }

  #believe(payload: Payloads['CheckpointCommitted'], bytes: number): void {
    if (payload.snapshot !== undefined) {
      this.belief = payload.snapshot;
      this.snapshotBytes = bytes;
      this.deltaBytes = 0;
    } else if (payload.delta !== undefined) {
      this.belief = applyDelta(this.belief, payload.delta as Delta);
      this.deltaBytes += bytes;
    }
  }

  #addInputs(sequence: Sequence, inputs: readonly Json[]): void {
    for (const [index, input] of inputs.entries()) this.#inputs.set(taskId(sequence, index), input);
  }

  #dropDone(state: StreamState): void {
    for (const task of this.#inputs.keys()) {
      if (taskOrder(task)[0] <= state.head.sequence && state.frontier.tasks.get(task) === undefined) {
        this.#inputs.delete(task);
      }
    }
  }
}

function journalEntry(status: string, payload: Uint8Array | string): JournalEntry {
  if (status === 'intended') return { status, request: decodePayload('EffectIntended', payload).request };
  const outcome = decodePayload('EffectResolved', payload);
  return 'response' in outcome
    ? { status: 'done', response: outcome.response }
    : { status: 'failed', error: outcome.error };
}
