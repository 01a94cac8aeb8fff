/** Owns where the next page of a list begins, as an opaque text. Pure. */

import type { AuditPlace } from '@tidemark/access';
import { InvalidError, PARTITION_MAX, type Position, type TaskId, type WorkflowId } from '@tidemark/core';
import type { ApprovalPlace, EffectRow, RejectedPlace, SegmentRow } from '@tidemark/ports';
import { z } from 'zod';
import { checkTexts } from './body.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The order of a list: what of a row says where it stands, and what its parts must be. */
class Order<Position extends object> {
  readonly #names: readonly (keyof Position)[];
  readonly #parts: z.ZodType<readonly unknown[]>;

  constructor(parts: { readonly [Name in keyof Position]-?: z.ZodType }) {
    this.#names = Object.keys(parts) as (keyof Position)[];
    this.#parts = z.tuple(Object.values(parts) as [z.ZodType]);
  }

  cursorOf(place: Position): string {
    return Buffer.from(JSON.stringify(this.#names.map((name) => place[name]))).toString('base64url');
  }

  /** Undefined: the list's beginning. Throws `InvalidError` (`cursor-invalid`). */
  placeOf(cursor: string | undefined): Position | undefined {
    if (cursor === undefined) return undefined;
    try {
      const parts = this.#parts.parse(JSON.parse(UTF8.decode(Buffer.from(cursor, 'base64url'))));
      checkTexts(parts);
      return Object.fromEntries(this.#names.map((name, at) => [name, parts[at]])) as Position;
    } catch {
      throw new InvalidError('cursor-invalid', 'cursor: give the next_cursor of a page, or leave it out.');
    }
  }

  /** Splits rows that were read with one more than the limit: the page, and where the next page begins; null: there is none. */
  pageIn<Row extends Position>(
    rows: readonly Row[],
    limit: number,
  ): { readonly page: readonly Row[]; readonly next_cursor: string | null } {
    const page = rows.slice(0, limit);
    return { page, next_cursor: rows.length > limit ? this.cursorOf(page.at(-1)!) : null };
  }
}

const name = z.string().max(300);
const task = z.string().regex(/^\d{1,9}\.\d{1,6}$/);
const whole = z.int().min(0);
const partition = whole.max(PARTITION_MAX);

export interface ListPlace {
  readonly openedAtMs: number;
  readonly workflow: WorkflowId;
}

export const BY_OPENING = new Order<ListPlace>({ openedAtMs: z.number(), workflow: name });
export const BY_ASKING = new Order<ApprovalPlace>({ askedAtMs: whole, workflow: name, task });
export const BY_WORKFLOW = new Order<{ readonly workflow: WorkflowId }>({ workflow: name });
export const BY_KEY = new Order<{ readonly key: string }>({ key: name });
export const BY_ID = new Order<{ readonly id: string }>({ id: name });
export const BY_TENANT = new Order<{ readonly tenant: string }>({ tenant: name });
export const BY_EFFECT = new Order<Pick<EffectRow, 'task' | 'key'>>({ task, key: z.string().max(2_000) });
export const BY_TASK = new Order<{ readonly task: TaskId }>({ task });
export const BY_POSITION = new Order<{ readonly position: Position }>({ position: whole });
export const BY_REJECTION = new Order<RejectedPlace>({ atMs: z.number(), partition, offset: whole });
export const BY_SEGMENT = new Order<Pick<SegmentRow, 'partition' | 'from'>>({ partition, from: whole });
export const BY_ENTRY = new Order<AuditPlace>({ atMs: z.number(), id: name });
