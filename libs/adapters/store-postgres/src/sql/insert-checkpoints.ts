/**
 * Inserts checkpoints. They never change (I1), and rows and offset move together (P1), so a conflict is a contradiction and fails. Inputs:
 * one row each. Locks: none to speak of. Index: primary key. Cost: at most 15 ms for 1,000, as measured while rows held 1 KB of payload.
 */

import { type CheckpointRow, placeText, type RecordPlace } from '@tidemark/ports';
import { float8s, int8s, texts } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const text = `
insert into checkpoints (workflow, sequence, checkpoint, parent, task, step, step_version, input_digest, belief, tokens,
  cost_micros, last_action, epoch, holder, position, "offset", lamport, at_ms, payload, supersedes)
select unnest($1::text[]), unnest($2::int8[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
  unnest($6::text[]), unnest($7::int8[]), unnest($8::text[]), unnest($9::text[]), unnest($10::float8[]),
  unnest($11::float8[]), unnest($12::text[]), unnest($13::int8[]), unnest($14::text[]), unnest($15::int8[]),
  unnest($16::int8[]), unnest($17::int8[]), unnest($18::float8[]), unnest($19::text[]),
  unnest($20::int8[])`;

export function insertCheckpoints(rows: readonly CheckpointRow<RecordPlace>[]): Statement {
  return {
    name: 'insert-checkpoints',
    text,
    values: [
      texts(rows, (row) => row.workflow),
      int8s(rows, (row) => row.sequence),
      texts(rows, (row) => row.checkpoint),
      texts(rows, (row) => row.parent),
      texts(rows, (row) => row.task),
      texts(rows, (row) => row.step),
      int8s(rows, (row) => row.stepVersion),
      texts(rows, (row) => row.inputDigest),
      texts(rows, (row) => row.belief),
      float8s(rows, (row) => row.tokens),
      float8s(rows, (row) => row.costMicros),
      texts(rows, (row) => row.lastAction),
      int8s(rows, (row) => row.epoch),
      texts(rows, (row) => row.holder),
      int8s(rows, (row) => row.position),
      int8s(rows, (row) => row.offset),
      int8s(rows, (row) => row.lamport),
      float8s(rows, (row) => row.atMs),
      texts(rows, (row) => placeText(row.payload)),
      int8s(rows, (row) => row.supersedes),
    ],
  };
}
