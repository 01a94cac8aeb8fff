/**
 * Owns how a process that works in the background leaves the processors to those who commit: by a lower scheduling priority, of all its
 * threads. What nobody else wants it still gets.
 */

import { readdirSync } from 'node:fs';
import os from 'node:os';

const { PRIORITY_BELOW_NORMAL, PRIORITY_NORMAL } = os.constants.priority;

/** Lowers the priority of this process; threads that are made later have it from those that make them. Undone only by who may raise it. */
export const giveWay = (): void => setPriority(PRIORITY_BELOW_NORMAL);

/** The ordinary priority again. Throws where the process may not. */
export const stopGivingWay = (): void => setPriority(PRIORITY_NORMAL);

/** Linux keeps it by thread. */
function setPriority(priority: number): void {
  for (const thread of threads()) {
    try {
      os.setPriority(thread, priority);
    } catch (error) {
      // It ended meanwhile.
      if ((error as NodeJS.ErrnoException & { readonly info?: { readonly code?: string } }).info?.code !== 'ESRCH')
        throw error;
    }
  }
}

/** 0: the process, where its threads can't be told apart. */
function threads(): readonly number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [0];
  }
}
