/** Owns the refund of docs/comparison.md as a job of BullMQ. It is compiled, and not run. */

import { DelayedError, type Job } from 'bullmq';
import { credit, orderOf } from './shop.ts';

const TWO_DAYS_MS = 172_800_000;

/** It begins anew after the wait, and after each crash. */
export async function refund(job: Job<{ order: string; approved?: boolean }>, token?: string): Promise<string[]> {
  const { order, approved } = job.data;
  const { cents, items } = await orderOf(order);
  if (cents > 50_000 && approved === undefined) {
    await job.updateData({ order, approved: false }); // unless somebody answers
    await job.moveToDelayed(Date.now() + TWO_DAYS_MS, token);
    throw new DelayedError();
  }
  return approved === false ? [] : Promise.all(items.map((item) => credit(item)));
}

export async function answer(job: Job<{ order: string; approved?: boolean }>, approved: boolean): Promise<void> {
  await job.updateData({ ...job.data, approved });
  await job.promote();
}
