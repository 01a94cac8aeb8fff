/** Owns the message when something takes longer than it should. */

import type { Session } from '../session.ts';

/** Milliseconds without a sign of life after which people are told what may be missing. */
const STALL_NOTICE_MS = 5_000;

/** Says what may be missing when something takes longer than it should; settles as the work does. */
export function noticeStall<T>({ terminal }: Session, message: string, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => terminal.note(message), STALL_NOTICE_MS);
  return work.finally(() => clearTimeout(timer));
}
