/** Owns whether what somebody says an effect answered can be held to the effect's own schema. Must not decide whether it counts. */

import { type EffectState, isOpen, type StreamState, streamFromJson, type WorkflowId } from '@tidemark/core';
import type { Backend } from '../backend.ts';

/** Which effect is answered for, by what the workflow's state says. */
export type EffectAsked = (effect: EffectState, state: StreamState) => boolean;

export const inQuestion: EffectAsked = ({ key }, { question }) => question?.key === key;

export const underToken =
  (token: string): EffectAsked =>
  ({ pending }) =>
    pending?.token === token;

/** The operation whose response nobody here can check; null: it is checked, or no schema knows it. */
export async function uncheckedOperation(
  backend: Backend,
  workflow: WorkflowId,
  asked: EffectAsked,
): Promise<string | null> {
  const [snapshot] = await backend.reads.loadStreams([workflow]);
  const state = snapshot && streamFromJson(snapshot.state, snapshot.tasks);
  // What an undo's calls answer is nothing that a schema knows.
  if (state === undefined || state.compensates !== null) return null;
  const effects = [...state.frontier.tasks].flatMap((task) => task.effects);
  const operation = effects.find((effect) => isOpen(effect) && asked(effect, state))?.operation;
  if (operation === undefined) return null;
  return backend.effects.some((known) => known.operation === operation) ? null : operation;
}
