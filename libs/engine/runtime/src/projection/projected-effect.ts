/** Owns which effect an event concerns, and its outcome, by the fold's state. Pure. */

import type { EffectState, Envelope, StreamState, TaskState } from '@tidemark/core';

export type EffectEnvelope = Envelope<
  'EffectIntended' | 'EffectPending' | 'EffectResolved' | 'EffectConfirmed' | 'ApprovalDecided'
>;

export interface FoundEffect {
  readonly task: TaskState['id'];
  readonly effect: EffectState;
}

/** The effect that the event concerns, as it is after the event; undefined when the event decides none. */
export function effectOf(stream: StreamState, envelope: EffectEnvelope): FoundEffect | undefined {
  switch (envelope.type) {
    case 'EffectConfirmed': {
      const { token, outcome, responseDigest } = envelope.control;
      const found = findEffect(stream, (effect) => effect.pending?.token === token);
      return found && { ...found, effect: { ...found.effect, status: outcome, responseDigest } };
    }
    case 'ApprovalDecided': {
      const { resolution, responseDigest } = envelope.control;
      if (resolution !== 'done' && resolution !== 'not-done') return undefined;
      const found = findEffect(stream, (effect) => effect.key === stream.question?.key);
      const status = resolution === 'done' ? 'done' : 'failed';
      return found && { ...found, effect: { ...found.effect, status, responseDigest } };
    }
    default: {
      const { task, key } = envelope.control;
      const effect = stream.frontier.tasks.get(task)?.effects.find((other) => other.key === key);
      return effect && { task, effect };
    }
  }
}

function findEffect(stream: StreamState, wanted: (effect: EffectState) => boolean): FoundEffect | undefined {
  for (const { id, effects } of stream.frontier.tasks) {
    const effect = effects.find(wanted);
    if (effect !== undefined) return { task: id, effect };
  }
  return undefined;
}
