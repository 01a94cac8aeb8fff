/** Owns the events of an effect's call: intended, resolved as done, and resolved as not done. It does not append them. */

import type { ErrorNote } from '@tidemark/codec';
import type { EffectKey, Json, Spend } from '@tidemark/core';
import type { Digest, EffectRow } from '@tidemark/ports';
import type { EffectDefinition, PreparedCall } from '../definition/index.ts';
import { digestOf } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';

/** One call of a task, as its events name it. */
export type EffectCall = Pick<EffectRow, 'task' | 'key' | 'operation' | 'kind' | 'requestDigest'>;

/** The same with what is asked, and of whom. */
export interface AskedCall {
  readonly key: EffectKey;
  readonly effect: EffectDefinition;
  readonly request: Json;
  /** The call as its events name it, whether or not any of them is recorded yet. */
  readonly recorded: EffectCall;
  /** Where the step makes it, of a call without a name. */
  readonly place?: string | undefined;
}

export const intendedDraft = (
  { effect: { timeoutMs }, request, recorded, place }: AskedCall,
  prepared: PreparedCall | undefined,
): Draft => ({
  type: 'EffectIntended',
  control: { ...recorded, timeoutMs, ...prepared?.control },
  payload: { request, ...(place !== undefined && { place }), ...prepared?.payload },
});

export function resolvedDraft(
  digest: Digest,
  call: EffectCall,
  response: Json,
  spentOf?: EffectDefinition['spentOf'],
  startedAtMs?: number,
): Draft {
  return {
    type: 'EffectResolved',
    control: {
      ...call,
      outcome: 'done',
      responseDigest: digestOf(digest, response),
      ...(startedAtMs !== undefined && { startedAtMs }),
      ...(spentOf !== undefined && { spent: spentOf(response), hasContext: true }),
    },
    payload: { response },
  };
}

/** `spent`: what the call cost although it failed; the rest of its reserved budget is released. */
export const notDoneDraft = (digest: Digest, call: EffectCall, error: ErrorNote, spent?: Spend): Draft => ({
  type: 'EffectResolved',
  control: {
    ...call,
    outcome: 'failed',
    responseDigest: digestOf(digest, error as unknown as Json),
    ...(spent !== undefined && { spent }),
  },
  payload: { error },
});
