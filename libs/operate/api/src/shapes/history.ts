/** Owns checkpoints, effects and other events as every door shows them, with the names of the checkpoint model. Pure. */

import { decodePayload } from '@tidemark/codec';
import { isoTime, type Json, type Sequence } from '@tidemark/core';
import type { CheckpointRow, EffectListing, EffectRow, EventRow } from '@tidemark/ports';
import type { ScopesJson } from './checkpoints.ts';

export const effectJson = (row: EffectRow) => ({
  operation: row.operation,
  idempotency_key: row.key,
  kind: row.kind,
  status: row.status,
  task: row.task,
  request_digest: row.requestDigest,
  response_digest: row.responseDigest,
  at: isoTime(row.atMs),
  ...effectPayload(row),
});

interface EffectContent {
  readonly request?: Json;
  readonly response?: Json;
  readonly error?: Json;
}

function effectPayload({ status, payload }: EffectRow): EffectContent {
  if (status === 'intended') return { request: decodePayload('EffectIntended', payload).request };
  return decodePayload('EffectResolved', payload) as unknown as EffectContent;
}

/** What became of a checkpoint later. */
export interface Became {
  /** Null: it can't be known. */
  readonly isCompensated: boolean | null;
  readonly supersededBy: Sequence | null;
}

/** Compensation comes last: what was corrected, and then undone, is undone. */
function statusOf({ isCompensated, supersededBy }: Became) {
  if (isCompensated === true) return 'compensated' as const;
  if (supersededBy !== null) return 'superseded' as const;
  return isCompensated === null ? null : ('committed' as const);
}

/** `effects`: those of the checkpoint's task. Only for checkpoints after the opening. */
export function checkpointJson(
  row: CheckpointRow,
  effects: readonly EffectListing[],
  became: Became,
  memory_scope_snapshot: ScopesJson,
) {
  const { output, delta, snapshot, log } = decodePayload('CheckpointCommitted', row.payload);
  return {
    checkpoint_id: row.checkpoint,
    sequence_number: row.sequence,
    parent_checkpoint_id: row.parent,
    status: statusOf(became),
    supersedes: row.supersedes,
    superseded_by: became.supersededBy,
    step_definition_ref: row.step,
    step_version: row.stepVersion,
    task: row.task,
    input_state_hash: row.inputDigest,
    output_state: output,
    belief_change: snapshot === undefined ? (delta === undefined ? null : { delta }) : { snapshot },
    effect_log: effects.map((effect) => ({
      operation: effect.operation,
      idempotency_key: effect.key,
      status: effect.status,
      request_digest: effect.requestDigest,
      response_digest: effect.responseDigest,
    })),
    memory_scope_snapshot,
    log: (log ?? []).map(({ atMs, action, detail }) => ({
      at: isoTime(atMs),
      action,
      ...(detail === undefined ? {} : { detail }),
    })),
    last_action: row.lastAction,
    tokens: row.tokens,
    cost_micros: row.costMicros,
    epoch: row.epoch,
    holder: row.holder,
    lamport: row.lamport,
    position: row.position,
    at: isoTime(row.atMs),
  };
}

export const eventJson = (row: EventRow) => ({
  position: row.position,
  event_id: row.event,
  type: row.type,
  at: isoTime(row.atMs),
  epoch: row.epoch,
  holder: row.holder === '' ? null : row.holder,
  lamport: row.lamport,
  control: JSON.parse(row.control) as Json,
  payload: JSON.parse(row.payload) as Json,
});
