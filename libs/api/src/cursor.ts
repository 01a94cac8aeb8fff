/** Owns where the next page of a list begins, as a text that says nothing to its holder. Pure. */

import { InvalidError, type TaskId, type WorkflowId } from '@tidemark/core';
import type { ApprovalPlace } from '@tidemark/ports';
import { z } from 'zod';

const placeSchema = z.tuple([z.number(), z.string().max(300)]);
const approvalSchema = z.tuple([z.int().min(0), z.string().max(300), z.string().regex(/^\d{1,9}\.\d{1,6}$/)]);

export interface ListPlace {
  readonly openedAtMs: number;
  readonly workflow: WorkflowId;
}

export const cursorOf = ({ openedAtMs, workflow }: ListPlace): string =>
  Buffer.from(JSON.stringify([openedAtMs, workflow])).toString('base64url');

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOf(cursor: string): ListPlace {
  const [openedAtMs, workflow] = read(cursor, placeSchema);
  return { openedAtMs, workflow: workflow as WorkflowId };
}

export const cursorOfApproval = ({ askedAtMs, workflow, task }: ApprovalPlace): string =>
  Buffer.from(JSON.stringify([askedAtMs, workflow, task])).toString('base64url');

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOfApproval(cursor: string): ApprovalPlace {
  const [askedAtMs, workflow, task] = read(cursor, approvalSchema);
  return { askedAtMs, workflow: workflow as WorkflowId, task: task as TaskId };
}

const childSchema = z.tuple([z.string().max(300)]);

export const cursorOfChild = (workflow: WorkflowId): string =>
  Buffer.from(JSON.stringify([workflow])).toString('base64url');

/** Throws `InvalidError` (`cursor-invalid`). */
export const childOf = (cursor: string): WorkflowId => read(cursor, childSchema)[0] as WorkflowId;

const nameSchema = z.tuple([z.string().max(300)]);

/** Of what is listed in the order of its names. */
export const cursorOfKey = (name: string): string => Buffer.from(JSON.stringify([name])).toString('base64url');

/** Throws `InvalidError` (`cursor-invalid`). */
export const keyOf = (cursor: string): string => read(cursor, nameSchema)[0];

export interface AuditPlace {
  readonly atMs: number;
  readonly id: string;
}

export const cursorOfAudit = ({ atMs, id }: AuditPlace): string =>
  Buffer.from(JSON.stringify([atMs, id])).toString('base64url');

/** Throws `InvalidError` (`cursor-invalid`). */
export function auditPlaceOf(cursor: string): AuditPlace {
  const [atMs, id] = read(cursor, placeSchema);
  return { atMs, id };
}

function read<S extends z.ZodType>(cursor: string, schema: S): z.output<S> {
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw new InvalidError('cursor-invalid', 'cursor: give what a page told as next_cursor, or none.');
  }
}
