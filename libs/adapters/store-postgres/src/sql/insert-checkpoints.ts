/**
 * Inserts checkpoints. They never change (I1), and rows and offset move together (P1), so a conflict is a contradiction and fails. Inputs:
 * one row each. Locks: none to speak of. Index: primary key. Cost: at most 15 ms for 1,000, as measured while rows held 1 KB of payload.
 */

import { type CheckpointRow, placeText, type RecordPlace } from '@tidemark/ports';
import { float8, insertion, int8, text } from '../insertion.ts';
import { spendPartsText } from './spend-columns.ts';

export const insertCheckpoints = insertion<CheckpointRow<RecordPlace>>('insert-checkpoints', 'checkpoints', {
  workflow: text((row) => row.workflow),
  sequence: int8((row) => row.sequence),
  checkpoint: text((row) => row.checkpoint),
  parent: text((row) => row.parent),
  task: text((row) => row.task),
  step: text((row) => row.step),
  step_version: int8((row) => row.stepVersion),
  input_digest: text((row) => row.inputDigest),
  belief: text((row) => row.belief),
  tokens: float8((row) => row.tokens),
  cost_micros: float8((row) => row.costMicros),
  last_action: text((row) => row.lastAction),
  epoch: int8((row) => row.epoch),
  holder: text((row) => row.holder),
  position: int8((row) => row.position),
  '"offset"': int8((row) => row.offset),
  lamport: int8((row) => row.lamport),
  at_ms: float8((row) => row.atMs),
  payload: text((row) => placeText(row.payload)),
  supersedes: int8((row) => row.supersedes),
  spend_parts: text(spendPartsText),
});
