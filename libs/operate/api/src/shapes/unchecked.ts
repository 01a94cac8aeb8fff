/** Owns whether a response that a person gives for an effect can be checked by the effect's own schema. Must not decide whether it counts. */

import { type EffectState, isOpen, type StreamState, streamFromJson, type WorkflowId } from '@tidemark/core';
import type { Backend } from '../backend.ts';

/** The effect of the answer, by the workflow's state. */
export type EffectFilter = (effect: EffectState, state: StreamState) => boolean;

export const inQuestion: EffectFilter = ({ key }, { question }) => question?.key === key;

export const underToken =
  (token: string): EffectFilter =>
  ({ pending }) =>
    pending?.token === token;

/** The operation whose response nothing here can check; null: it is checked, or no schema knows it. */
export async function uncheckedOperation(
  backend: Backend,
  workflow: WorkflowId,
  asked: EffectFilter,
): Promise<string | null> {
  const [snapshot] = await backend.reads.loadStreams([workflow], { payloads: false });
  const state = snapshot && streamFromJson(snapshot.state, snapshot.tasks);
  // No schema knows the responses of an undo's calls.
  if (state === undefined || state.compensates !== null) return null;
  const effects = [...state.frontier.tasks].flatMap((task) => task.effects);
  const operation = effects.find((effect) => isOpen(effect) && asked(effect, state))?.operation;
  if (operation === undefined) return null;
  return backend.effects.some((known) => known.operation === operation) ? null : operation;
}
