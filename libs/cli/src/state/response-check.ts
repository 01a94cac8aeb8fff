/**
 * Owns whether what a person says an effect answered can be checked by the effect's own schema: by the definitions that this
 * command was given, or by those of whoever holds the state. Must not decide whether it counts.
 */

import { type EffectState, isOpen, type Json, type StreamState, streamFromJson, type WorkflowId } from '@tidemark/core';
import type { Definition } from '@tidemark/runtime';
import type { Desk } from './desk.ts';

/** Which effect is answered for, by what the workflow's state says. */
export type EffectAsked = (effect: EffectState, state: StreamState) => boolean;

export const inQuestion: EffectAsked = ({ key }, { question }) => question?.key === key;

export const underToken =
  (token: string): EffectAsked =>
  ({ pending }) =>
    pending?.token === token;

/** The operation whose response nobody here can check; null: it is checked. Throws `InvalidError` that names the path. */
export async function uncheckedOperation(
  desk: Desk,
  workflow: WorkflowId,
  asked: EffectAsked,
  response: Json,
  given: readonly Definition[],
): Promise<string | null> {
  const [snapshot] = await desk.reads.loadStreams([workflow]);
  const state = snapshot && streamFromJson(snapshot.state, snapshot.tasks);
  // What an undo's calls answer is nothing that a schema knows.
  if (state === undefined || state.compensates !== null) return null;
  const effects = [...state.frontier.tasks].flatMap((task) => task.effects);
  const operation = effects.find((effect) => isOpen(effect) && asked(effect, state))?.operation;
  if (operation === undefined) return null;
  const known = given.flatMap((definition) => definition.effects).find((effect) => effect.operation === operation);
  if (known !== undefined) {
    known.parseResponse(response);
    return null;
  }
  const cards = await desk.definitions();
  return cards.some(({ effects: listed }) => listed.includes(operation)) ? null : operation;
}
