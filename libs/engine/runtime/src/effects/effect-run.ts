/**
 * Owns what the effects of one run share: the stream to which they are written, what is known of them, and the receiver of their progress.
 * It calls nothing, and does not decide what a call's outcome means.
 */

import type { Payloads } from '@tidemark/codec';
import {
  type CheckpointId,
  type EffectKey,
  type EffectState,
  isAwaited,
  isOpen,
  type Json,
  type StreamState,
  type TaskId,
} from '@tidemark/core';
import type { Definition, EffectContext, EffectDefinition, Progress } from '../definition/index.ts';
import type { Replay, StreamContent } from '../history/index.ts';
import { effectSpan, type Ports, type RunGate, type SecretGuard, traceParentOf } from '../kernel/index.ts';
import { type Draft, type Flushing, type LeasedStream, mayUndo } from '../lease/index.ts';

/** Makes the call of an effect; tests replace it. */
export type CallEffect = (effect: EffectDefinition, request: Json, context: EffectContext) => Promise<unknown>;

export const callEffect: CallEffect = (effect, request, context) => effect.call(request, context);

/** The intentions of a task's calls. `isDecided`: a person has given the outcome. */
export type RecordedCalls = ReadonlyMap<EffectKey, Payloads['EffectIntended'] & { readonly isDecided?: boolean }>;

/** What a warning in the execution log says. */
export interface LogDetail {
  readonly code: string;
  readonly result: string;
}

export interface EffectRunParts {
  readonly ports: Pick<Ports, 'calls' | 'clock' | 'digest' | 'telemetry'>;
  readonly definition: Definition;
  readonly stream: LeasedStream;
  readonly flushing: Flushing;
  readonly content: StreamContent;
  readonly callEffect: CallEffect;
  /** Effects begin only while this gate is open. */
  readonly gate: RunGate;
  /** Answers every effect of a fork that replays; absent for any other workflow. */
  readonly replay?: Replay | undefined;
  /** Holds errors to the policy on secrets; absent: they are recorded as they are. */
  readonly guard?: SecretGuard | undefined;
  /** Reads them from the rows, once these have everything that this holder has written. */
  readonly recordedCalls: (task: TaskId) => Promise<RecordedCalls>;
  readonly newCheckpoint: () => CheckpointId;
  /** Receives the progress of a call. */
  readonly onProgress: (progress: Progress) => void;
  /** Receives what the step waits for, and how long. */
  readonly onWait: (text: string) => void;
}

export class EffectRun {
  readonly parts: EffectRunParts;
  /** Effects that a dead holder resolved, and that were not probed since (requirement D1). */
  readonly unvalidated: Set<EffectKey>;
  /** Number of intentions of each key under this lease; each has a trace span of its own. */
  readonly #intentions = new Map<EffectKey, number>();
  #timerCount = 0;

  constructor(parts: EffectRunParts) {
    this.parts = parts;
    this.unvalidated = suspects(parts.stream.confirmed);
  }

  get ports(): EffectRunParts['ports'] {
    return this.parts.ports;
  }

  /** The task's effects in the speculative state, which includes own unsettled events. */
  effectsOf(task: TaskId): readonly EffectState[] {
    return effectsOf(this.parts.stream.speculative, task);
  }

  /** The drafts, preceded by the reservation of the task's checkpoint if it has none yet: that must come before the task's first effect. */
  reserving(task: TaskId, ...drafts: readonly Draft[]): readonly Draft[] {
    if (this.parts.stream.speculative.frontier.tasks.get(task)?.reserved != null) return drafts;
    const control = { checkpoint: this.parts.newCheckpoint(), task };
    return [{ type: 'CheckpointReserved', control, payload: null }, ...drafts];
  }

  /** The recorded response; undefined if none is. */
  responseTo(key: EffectKey): Json | undefined {
    const entry = this.parts.content.journalOf(key);
    return entry?.status === 'done' ? entry.response : undefined;
  }

  wasIntended(key: EffectKey): void {
    this.#intentions.set(key, (this.#intentions.get(key) ?? 0) + 1);
  }

  /** Does the work inside the trace span of the key's last intention. */
  withinCall<T>(key: EffectKey, work: () => T): T {
    const { within, traceRatio } = this.ports.telemetry;
    if (within === undefined) return work();
    const { workflow, epoch } = this.parts.stream.confirmed;
    const span = (): string => effectSpan(workflow, key, epoch, this.#intentions.get(key) ?? 0);
    return within(() => traceParentOf(workflow, span(), traceRatio), work);
  }

  /** Whether an effect with this outcome may lead to the compensation of the workflow. */
  mayCompensate(effect: Pick<EffectDefinition, 'operation'>, outcome: 'done' | 'unknown'): boolean {
    return mayCompensate(this.parts.stream.speculative, this.parts.definition.effects, effect, outcome);
  }

  /** The error in the form in which it is recorded: its secrets are masked if the policy says so. */
  hideSecrets(of: string, error: unknown): unknown {
    const { guard } = this.parts;
    return guard === undefined ? error : guard.error(`error of ${of}`, error);
  }

  /** A name for a timer of this run that is unique in the stream. */
  timerName(): string {
    return `${this.parts.stream.confirmed.epoch}:${this.#timerCount++}`;
  }
}

/** Whether the effect registers a compensation for this outcome, and the workflow may still be compensated. */
export function mayCompensate(
  state: StreamState,
  listed: readonly EffectDefinition[],
  { operation }: Pick<EffectDefinition, 'operation'>,
  outcome: 'done' | 'unknown',
): boolean {
  const registered = listed.find((effect) => effect.operation === operation);
  const undo = outcome === 'done' ? registered?.compensate : registered?.compensateUnknown;
  return undo !== undefined && mayUndo(state);
}

const effectsOf = ({ frontier }: StreamState, task: TaskId): readonly EffectState[] =>
  frontier.tasks.get(task)?.effects ?? [];

const suspects = ({ frontier }: StreamState): Set<EffectKey> =>
  new Set([...frontier.tasks].flatMap(({ effects }) => effects.filter((one) => one.isSuspect).map(({ key }) => key)));

/** Whether the task's attempt must end without a result: one of its effects waits for its confirmation. */
export const isSuspended = (state: StreamState, task: TaskId): boolean => effectsOf(state, task).some(isAwaited);

/** Whether the outcome of one of the task's calls is still open. */
export const hasOpen = (state: StreamState, task: TaskId): boolean => effectsOf(state, task).some(isOpen);
