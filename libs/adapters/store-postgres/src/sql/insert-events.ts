/**
 * Inserts inbox events and failures; as with checkpoints, a conflict fails. Inputs: one row each. Index: primary key; events_inbox for
 * those of epoch 0, which finds a task's cause. Cost: at most 12 ms for 1,000, as measured while rows held 300 bytes of payload.
 */

import { type EventRow, placeText, type RecordPlace, type RejectedRow } from '@tidemark/ports';
import { float8, insertion, int4, int8, text } from '../insertion.ts';

/** Evidence of a rejected record, in characters; longer is cut. */
const EVIDENCE_MAX_CHARS = 2_000;

export const insertEvents = insertion<EventRow<RecordPlace>>('insert-events', 'events', {
  workflow: text((row) => row.workflow),
  position: int8((row) => row.position),
  event: text((row) => row.event),
  type: text((row) => row.type),
  epoch: int8((row) => row.epoch),
  holder: text((row) => row.holder),
  lamport: int8((row) => row.lamport),
  '"offset"': int8((row) => row.offset),
  at_ms: float8((row) => row.atMs),
  control: text((row) => row.control),
  payload: text((row) => placeText(row.payload)),
});

/** Keeps rejected records for audit; an existing row stays as it is. Index: primary key, rejected_newest. Cost: 5 ms for 1,000. */
export const insertRejected = insertion<RejectedRow>(
  'insert-rejected',
  'rejected',
  {
    partition: int4((row) => row.partition),
    '"offset"': int8((row) => row.offset),
    workflow: text((row) => row.workflow),
    type: text((row) => row.type),
    reason: text((row) => row.reason),
    evidence: text((row) => row.evidence.slice(0, EVIDENCE_MAX_CHARS)),
    at_ms: float8((row) => row.atMs),
  },
  'on conflict (partition, "offset") do nothing',
);
