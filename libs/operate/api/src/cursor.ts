/** Owns where the next page of a list begins, as an opaque text. Pure. */

import type { AuditPlace } from '@tidemark/access';
import {
  type EffectKey,
  InvalidError,
  type Offset,
  type Partition,
  type Position,
  type TaskId,
  type WorkflowId,
} from '@tidemark/core';
import type { ApprovalPlace, EffectRow, RejectedPlace, SegmentRow } from '@tidemark/ports';
import { z } from 'zod';
import { checkTexts } from './body.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

const taskSchema = z.string().regex(/^\d{1,9}\.\d{1,6}$/);
const placeSchema = z.tuple([z.number(), z.string().max(300)]);
const approvalSchema = z.tuple([z.int().min(0), z.string().max(300), taskSchema]);

export interface ListPlace {
  readonly openedAtMs: number;
  readonly workflow: WorkflowId;
}

export const cursorOf = ({ openedAtMs, workflow }: ListPlace): string => written([openedAtMs, workflow]);

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOf(cursor: string): ListPlace {
  const [openedAtMs, workflow] = read(cursor, placeSchema);
  return { openedAtMs, workflow: workflow as WorkflowId };
}

export const cursorOfApproval = ({ askedAtMs, workflow, task }: ApprovalPlace): string =>
  written([askedAtMs, workflow, task]);

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOfApproval(cursor: string): ApprovalPlace {
  const [askedAtMs, workflow, task] = read(cursor, approvalSchema);
  return { askedAtMs, workflow: workflow as WorkflowId, task: task as TaskId };
}

const childSchema = z.tuple([z.string().max(300)]);

export const cursorOfChild = (workflow: WorkflowId): string => written([workflow]);

/** Throws `InvalidError` (`cursor-invalid`). */
export const childOf = (cursor: string): WorkflowId => read(cursor, childSchema)[0] as WorkflowId;

const nameSchema = z.tuple([z.string().max(300)]);

/** For lists in the order of names. */
export const cursorOfKey = (name: string): string => written([name]);

/** Throws `InvalidError` (`cursor-invalid`). */
export const keyOf = (cursor: string): string => read(cursor, nameSchema)[0];

/** For an effect among those of its workflow. */
export type EffectPlace = Pick<EffectRow, 'task' | 'key'>;

const effectPlaceSchema = z.tuple([taskSchema, z.string().max(2_000)]);

export const cursorOfEffect = ({ task, key }: EffectPlace): string => written([task, key]);

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOfEffect(cursor: string): EffectPlace {
  const [task, key] = read(cursor, effectPlaceSchema);
  return { task: task as TaskId, key: key as EffectKey };
}

const taskPlaceSchema = z.tuple([taskSchema]);

export const cursorOfTask = (task: TaskId): string => written([task]);

/** Throws `InvalidError` (`cursor-invalid`). */
export const taskAt = (cursor: string): TaskId => read(cursor, taskPlaceSchema)[0] as TaskId;

const positionSchema = z.tuple([z.int().min(0)]);

export const cursorOfPosition = (position: Position): string => written([position]);

/** Throws `InvalidError` (`cursor-invalid`). */
export const positionAt = (cursor: string): Position => read(cursor, positionSchema)[0] as Position;

const partitionSchema = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const rejectedSchema = z.tuple([z.number(), partitionSchema, z.int().min(0)]);

export const cursorOfRejected = ({ atMs, partition, offset }: RejectedPlace): string =>
  written([atMs, partition, offset]);

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOfRejected(cursor: string): RejectedPlace {
  const [atMs, partition, offset] = read(cursor, rejectedSchema);
  return { atMs, partition: partition as Partition, offset: offset as Offset };
}

/** For a segment among those of its workflow. */
export type SegmentPlace = Pick<SegmentRow, 'partition' | 'from'>;

const segmentSchema = z.tuple([partitionSchema, z.int().min(0)]);

export const cursorOfSegment = ({ partition, from }: SegmentPlace): string => written([partition, from]);

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOfSegment(cursor: string): SegmentPlace {
  const [partition, from] = read(cursor, segmentSchema);
  return { partition: partition as Partition, from: from as Offset };
}

export const cursorOfAudit = ({ atMs, id }: AuditPlace): string => written([atMs, id]);

/** Throws `InvalidError` (`cursor-invalid`). */
export function auditPlaceOf(cursor: string): AuditPlace {
  const [atMs, id] = read(cursor, placeSchema);
  return { atMs, id };
}

/** Splits rows that were read with one more than the limit: the page, and where the next page begins; null: there is none. */
export function pageIn<Row>(
  rows: readonly Row[],
  limit: number,
  cursorAt: (last: Row) => string,
): { readonly page: readonly Row[]; readonly next_cursor: string | null } {
  const page = rows.slice(0, limit);
  return { page, next_cursor: rows.length > limit ? cursorAt(page.at(-1)!) : null };
}

const written = (place: readonly unknown[]): string => Buffer.from(JSON.stringify(place)).toString('base64url');

function read<S extends z.ZodType>(cursor: string, schema: S): z.output<S> {
  try {
    const said = schema.parse(JSON.parse(UTF8.decode(Buffer.from(cursor, 'base64url'))));
    checkTexts(said);
    return said;
  } catch {
    throw new InvalidError('cursor-invalid', 'cursor: give what a page told as next_cursor, or none.');
  }
}
