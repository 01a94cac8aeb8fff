/** Owns how every entry point shows checkpoints, effects and other events, with the names of the checkpoint model. Pure. */

import { decodePayload } from '@tidemark/codec';
import { isoTime, type Json } from '@tidemark/core';
import type { EffectRow, EventRow } from '@tidemark/ports';

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
