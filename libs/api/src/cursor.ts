/** Owns where the next page of a list begins, as a text that says nothing to its holder. Pure. */

import { InvalidError, type WorkflowId } from '@tidemark/core';
import { z } from 'zod';

const placeSchema = z.tuple([z.number(), z.string().max(300)]);

export interface ListPlace {
  readonly openedAtMs: number;
  readonly workflow: WorkflowId;
}

export const cursorOf = ({ openedAtMs, workflow }: ListPlace): string =>
  Buffer.from(JSON.stringify([openedAtMs, workflow])).toString('base64url');

/** Throws `InvalidError` (`cursor-invalid`). */
export function placeOf(cursor: string): ListPlace {
  try {
    const [openedAtMs, workflow] = placeSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    return { openedAtMs, workflow: workflow as WorkflowId };
  } catch {
    throw new InvalidError('cursor-invalid', 'cursor: give what a page told as next_cursor, or none.');
  }
}
