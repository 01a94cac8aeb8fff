/** Owns how every entry point shows checkpoints, effects and other events, with the names of the checkpoint model. Pure. */

import { decodePayload } from '@tidemark/codec';
import { isoTime, type Json } from '@tidemark/core';
import type { EffectRow, EventRow } from '@tidemark/ports';
import { opaqueSizes } from './opaque.ts';

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

/** Events that end an effect: its status doesn't say which one did. */
type Ending = 'EffectResolved' | 'EffectConfirmed' | 'ApprovalDecided';

/** Picks members by name: an event also has what the answer doesn't declare, such as why a person decided. */
function effectPayload({ status, payload }: EffectRow) {
  if (status === 'intended') return { request: decodePayload('EffectIntended', payload).request };
  if (status === 'pending') return {};
  const ended = decodePayload<Ending>('EffectResolved', payload);
  return {
    ...('response' in ended && { response: opaqueSizes(ended.response) }),
    ...('error' in ended && { error: ended.error as unknown as Json }),
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
  payload: opaqueSizes(JSON.parse(row.payload) as Json),
});
