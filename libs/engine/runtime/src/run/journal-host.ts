/**
 * Owns what an effect journal is given of the run that its step is part of: the stream to write to, what is known of it, and
 * whom to tell. Must not decide anything about effects.
 */

import { type CheckpointId, type EffectKey, isAwaited, isOpen, type StreamState, type TaskId } from '@tidemark/core';
import type { Definition, Progress } from '../definition/index.ts';
import type { CallEffect, JournalHost } from '../effects/index.ts';
import type { Replay, StreamContent } from '../history/index.ts';
import { effectSpan, type Ports, type RunGate, type SecretGuard, traceParentOf } from '../kernel/index.ts';
import type { Flushing, LeasedStream } from '../lease/index.ts';
import { mayCompensate } from './ending.ts';

export interface JournalDependencies {
  readonly ports: Pick<Ports, 'clock' | 'digest' | 'telemetry'>;
  readonly guard: SecretGuard;
  readonly definition: Definition;
  readonly stream: LeasedStream;
  readonly content: StreamContent;
  readonly flushing: Flushing;
  readonly callEffect: CallEffect;
  readonly newCheckpoint: () => CheckpointId;
  readonly gate: RunGate;
  readonly replay?: Replay | undefined;
  readonly onProgress: (progress: Progress) => void;
}

export function journalHost(dependencies: JournalDependencies): JournalHost {
  const { ports, definition, stream, content, flushing, callEffect, newCheckpoint, gate, replay, onProgress, guard } =
    dependencies;
  let timerCount = 0;
  const intentions = new Map<EffectKey, number>();
  return {
    ports,
    callEffect,
    workflow: stream.confirmed.workflow,
    content,
    unvalidated: suspects(stream.confirmed),
    mayCompensate: (effect, outcome) => mayCompensate(stream.speculative, definition.effects, effect, outcome),
    onWait: (text) => onProgress({ done: 0, total: 1, text }),
    hideSecrets: (of, error) => guard.error(`error of ${of}`, error),
    gate,
    wasIntended: (key) => void intentions.set(key, (intentions.get(key) ?? 0) + 1),
    withinCall: (key, work) => {
      const { within, traceRatio } = ports.telemetry;
      if (within === undefined) return work();
      const { workflow, epoch } = stream.confirmed;
      const span = (): string => effectSpan(workflow, key, epoch, intentions.get(key) ?? 0);
      return within(() => traceParentOf(workflow, span(), traceRatio), work);
    },
    replay,
    onProgress,
    timerName: () => `${stream.confirmed.epoch}:${timerCount++}`,
    effectsOf: (task) => stream.speculative.frontier.tasks.get(task)?.effects ?? [],
    reservation: (task) => {
      if (stream.speculative.frontier.tasks.get(task)?.reserved != null) return undefined;
      return { type: 'CheckpointReserved', control: { checkpoint: newCheckpoint(), task }, payload: null };
    },
    writeDurably: (drafts) => flushing.write(drafts),
    writeStaged: async (drafts) => {
      const before = stream.speculative;
      const accepted = stream.stage(drafts);
      // Nothing was added: the event is too large, or the lease is lost.
      if (stream.speculative === before) await accepted;
      // A rejection surfaces with the next write, or at the end of the run.
      accepted.catch(() => {});
      flushing.soon();
    },
  };
}

/** Effects that a holder resolved and then died over: what the log has of them is held against the outside once (D1). */
const suspects = ({ frontier }: StreamState): Set<EffectKey> =>
  new Set([...frontier.tasks].flatMap(({ effects }) => effects.filter((one) => one.isSuspect).map(({ key }) => key)));

/** Whether the task's attempt must end without a result: one of its effects waits for its confirmation. */
export const isSuspended = (state: StreamState, task: TaskId): boolean =>
  state.frontier.tasks.get(task)?.effects.some(isAwaited) ?? false;

/** Whether the outcome of one of its calls is yet to be known. */
export const hasOpen = (state: StreamState, task: TaskId): boolean =>
  state.frontier.tasks.get(task)?.effects.some(isOpen) ?? false;
