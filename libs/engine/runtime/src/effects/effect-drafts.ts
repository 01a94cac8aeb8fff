/** Owns the events that an effect's call becomes: intended, resolved, known not to be done. Must not write them. */

import type { ErrorNote } from '@tidemark/codec';
import type { EffectKey, EffectKind, Json, Spend, TaskId } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import type { EffectDefinition, PreparedCall } from '../definition/index.ts';
import { digestOf } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';

/** One call of a task. */
export interface EffectCall {
  readonly task: TaskId;
  readonly key: EffectKey;
  readonly operation: string;
  readonly kind: EffectKind;
  /** Null for a closure, which asks nothing. */
  readonly request: Json;
}

export function intendedDraft(
  digest: Digest,
  { request, ...call }: EffectCall,
  timeoutMs: number,
  prepared: PreparedCall | undefined,
): Draft {
  const control = { ...call, requestDigest: digestOf(digest, request), timeoutMs };
  return {
    type: 'EffectIntended',
    control: { ...control, ...prepared?.control },
    payload: { request, ...prepared?.payload },
  };
}

export function resolvedDraft(
  digest: Digest,
  { request, ...call }: EffectCall,
  response: Json,
  spentOf?: EffectDefinition['spentOf'],
  startedAtMs?: number,
): Draft {
  return {
    type: 'EffectResolved',
    control: {
      ...call,
      requestDigest: digestOf(digest, request),
      outcome: 'done',
      responseDigest: digestOf(digest, response),
      ...(startedAtMs !== undefined && { startedAtMs }),
      ...(spentOf !== undefined && { spent: spentOf(response), hasContext: true }),
    },
    payload: { response },
  };
}

/** `spent`: what it cost all the same; the rest of what was reserved is free again. */
export const notDoneDraft = (
  digest: Digest,
  { request, ...call }: EffectCall,
  error: ErrorNote,
  spent?: Spend,
): Draft => ({
  type: 'EffectResolved',
  control: {
    ...call,
    requestDigest: digestOf(digest, request),
    outcome: 'failed',
    responseDigest: digestOf(digest, error as unknown as Json),
    ...(spent !== undefined && { spent }),
  },
  payload: { error },
});
