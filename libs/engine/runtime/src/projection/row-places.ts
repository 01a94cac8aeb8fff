/**
 * Owns which columns of rows have a payload or the place of its record, and which record a row may name. A changed row can name neither another workflow's
 * record nor a different one of the same workflow, even to an attacker without keys. Pure: it receives the function that reads payloads.
 */

import type { Envelope, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, EffectRow, EventRow, JsonText, StreamSnapshot } from '@tidemark/ports';

/** Whether a record is the one that the row describes. */
export type Fits = (envelope: Envelope) => boolean;
/** Returns the payload that replaces the row's value, for example that of the record at that place. */
export type PayloadOf<P> = (payload: P, fits: Fits) => JsonText;

/** `checkpoint` is compared only where the row has it. */
const isCheckpoint =
  ({ sequence, checkpoint }: Pick<CheckpointRow, 'sequence'> & Partial<CheckpointRow<unknown>>, of: WorkflowId): Fits =>
  ({ workflow, type, control }) => {
    if (workflow !== of) return false;
    if (sequence === 0) return type === 'WorkflowOpened';
    if (type !== 'CheckpointCommitted') return false;
    const committed = control as Envelope<'CheckpointCommitted'>['control'];
    return committed.sequence === sequence && (checkpoint === undefined || committed.checkpoint === checkpoint);
  };

const ENDINGS: readonly Envelope['type'][] = ['EffectResolved', 'EffectConfirmed', 'ApprovalDecided'];
/** Events that leave an effect in a status. A changed row may have any status. */
const LEAVING: ReadonlyMap<EffectRow['status'], readonly Envelope['type'][]> = new Map([
  ['intended', ['EffectIntended']],
  ['pending', ['EffectPending']],
  ['done', ENDINGS],
  ['failed', ENDINGS],
]);

/**
 * A confirmation names the receiver's token, and a decision names no effect at all: the digest of the response identifies these, where the
 * row has one.
 */
const isOfEffect =
  (
    { key, status, responseDigest }: Pick<EffectRow, 'key' | 'status'> & Partial<EffectRow<unknown>>,
    of: WorkflowId,
  ): Fits =>
  ({ workflow, type, control }) => {
    if (workflow !== of || LEAVING.get(status)?.includes(type) !== true) return false;
    if ('key' in control && control.key !== key) return false;
    return responseDigest === undefined || !('responseDigest' in control) || control.responseDigest === responseDigest;
  };

const isEvent =
  ({ event }: Pick<EventRow, 'event'>, of: WorkflowId): Fits =>
  ({ workflow, id }) =>
    workflow === of && id === event;

const withPayload = <P, R extends { readonly payload: P }>(row: R, payloadOf: PayloadOf<P>, fits: Fits) => ({
  ...row,
  payload: payloadOf(row.payload, fits),
});

export const fillCheckpoint = <P>(row: CheckpointRow<P>, payloadOf: PayloadOf<P>): CheckpointRow =>
  withPayload(row, payloadOf, isCheckpoint(row, row.workflow));

export const fillEvent = <P>(row: EventRow<P>, payloadOf: PayloadOf<P>): EventRow =>
  withPayload(row, payloadOf, isEvent(row, row.workflow));

export function fillEffect<P>(row: EffectRow<P>, payloadOf: PayloadOf<P>): EffectRow {
  const { workflow, request, key } = row;
  const isIntention = isOfEffect({ key, status: 'intended' }, workflow);
  return {
    ...withPayload(row, payloadOf, isOfEffect(row, workflow)),
    request: request === null ? null : payloadOf(request, isIntention),
  };
}

export function fillSnapshot<P>(snapshot: StreamSnapshot<P>, payloadOf: PayloadOf<P>): StreamSnapshot {
  const { workflow, checkpoints, effects, causes } = snapshot;
  return {
    ...snapshot,
    checkpoints: checkpoints.map((row) => withPayload(row, payloadOf, isCheckpoint(row, workflow))),
    effects: effects.map((row) => withPayload(row, payloadOf, isOfEffect(row, workflow))),
    causes: causes.map((row) => withPayload(row, payloadOf, isEvent(row, workflow))),
  };
}
