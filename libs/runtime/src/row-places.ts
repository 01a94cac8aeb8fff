/**
 * Owns which columns of rows have the place of a record for what it says, and which record that may be: whoever changed a row without keys
 * makes it name no other workflow's record, nor another one of the same. Pure: it is given what brings what records say.
 */

import type { Envelope, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, EffectRow, EventRow, JsonText, RecordPlace, StreamSnapshot } from '@tidemark/ports';

/** Whether a record is the one that the row is about. */
export type Fits = (envelope: Envelope) => boolean;
/** What the record at the place says. */
export type PayloadAt = (place: RecordPlace, fits: Fits) => JsonText;

type Placed = { readonly payload: RecordPlace };

const isCheckpoint =
  ({ sequence }: Pick<CheckpointRow, 'sequence'>, of: WorkflowId): Fits =>
  ({ workflow, type, control }) =>
    workflow === of &&
    (sequence === 0
      ? type === 'WorkflowOpened'
      : type === 'CheckpointCommitted' &&
        (control as Envelope<'CheckpointCommitted'>['control']).sequence === sequence);

/** A confirmation names the receiver's token, and a decision no effect at all. */
const isOfEffect =
  ({ key }: Pick<EffectRow, 'key'>, of: WorkflowId): Fits =>
  ({ workflow, control }) =>
    workflow === of && (!('key' in control) || control.key === key);

const isEvent =
  ({ event }: Pick<EventRow, 'event'>, of: WorkflowId): Fits =>
  ({ workflow, id }) =>
    workflow === of && id === event;

const filled = <R extends Placed>(row: R, payloadAt: PayloadAt, fits: Fits) => ({
  ...row,
  payload: payloadAt(row.payload, fits),
});

export const fillCheckpoint = (row: CheckpointRow<RecordPlace>, payloadAt: PayloadAt): CheckpointRow =>
  filled(row, payloadAt, isCheckpoint(row, row.workflow));

export const fillEvent = (row: EventRow<RecordPlace>, payloadAt: PayloadAt): EventRow =>
  filled(row, payloadAt, isEvent(row, row.workflow));

export function fillEffect(row: EffectRow<RecordPlace>, payloadAt: PayloadAt): EffectRow {
  const fits = isOfEffect(row, row.workflow);
  return { ...filled(row, payloadAt, fits), request: row.request === null ? null : payloadAt(row.request, fits) };
}

export function fillSnapshot(snapshot: StreamSnapshot<RecordPlace>, payloadAt: PayloadAt): StreamSnapshot {
  const { workflow, checkpoints, effects, causes } = snapshot;
  return {
    ...snapshot,
    checkpoints: checkpoints.map((row) => filled(row, payloadAt, isCheckpoint(row, workflow))),
    effects: effects.map((row) => filled(row, payloadAt, isOfEffect(row, workflow))),
    causes: causes.map((row) => filled(row, payloadAt, isEvent(row, workflow))),
  };
}
