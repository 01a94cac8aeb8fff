/**
 * Inserts inbox events and failures; as with checkpoints, a conflict fails. Inputs: one row each. Index: primary key; events_inbox for
 * those of epoch 0, which finds a task's cause. Cost: at most 12 ms for 1,000, as measured while rows held 300 bytes of payload.
 */

import { type EventRow, placeText, type RecordPlace, type RejectedRow } from '@tidemark/ports';
import { float8s, int4s, int8s, texts } from '../binary-array.ts';
import { EVIDENCE_MAX_CHARS } from '../limits.ts';
import type { Statement } from '../sql-client.ts';

const text = `
insert into events (workflow, position, event, type, epoch, holder, lamport, "offset", at_ms, control, payload)
select unnest($1::text[]), unnest($2::int8[]), unnest($3::text[]), unnest($4::text[]), unnest($5::int8[]),
  unnest($6::text[]), unnest($7::int8[]), unnest($8::int8[]), unnest($9::float8[]), unnest($10::text[]),
  unnest($11::text[])`;

export function insertEvents(rows: readonly EventRow<RecordPlace>[]): Statement {
  return {
    name: 'insert-events',
    text,
    values: [
      texts(rows, (row) => row.workflow),
      int8s(rows, (row) => row.position),
      texts(rows, (row) => row.event),
      texts(rows, (row) => row.type),
      int8s(rows, (row) => row.epoch),
      texts(rows, (row) => row.holder),
      int8s(rows, (row) => row.lamport),
      int8s(rows, (row) => row.offset),
      float8s(rows, (row) => row.atMs),
      texts(rows, (row) => row.control),
      texts(rows, (row) => placeText(row.payload)),
    ],
  };
}

const rejected = `
insert into rejected (partition, "offset", workflow, type, reason, evidence, at_ms)
select unnest($1::int4[]), unnest($2::int8[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
  unnest($6::text[]), unnest($7::float8[])
on conflict (partition, "offset") do nothing`;

/** Keeps rejected records for audit; an existing row stays as it is. Index: primary key, rejected_newest. Cost: 5 ms for 1,000. */
export function insertRejected(rows: readonly RejectedRow[]): Statement {
  return {
    name: 'insert-rejected',
    text: rejected,
    values: [
      int4s(rows, (row) => row.partition),
      int8s(rows, (row) => row.offset),
      texts(rows, (row) => row.workflow),
      texts(rows, (row) => row.type),
      texts(rows, (row) => row.reason),
      texts(rows, (row) => row.evidence.slice(0, EVIDENCE_MAX_CHARS)),
      float8s(rows, (row) => row.atMs),
    ],
  };
}
