/**
 * Owns how a background process yields the processors to those that commit: by a lower scheduling priority of all its threads. It still
 * gets what nobody else uses.
 */

import { readdirSync } from 'node:fs';
import os from 'node:os';

const { PRIORITY_BELOW_NORMAL, PRIORITY_NORMAL } = os.constants.priority;

/** Lowers the priority of this process; later threads inherit it. Only a privileged process may raise it again. */
export const giveWay = (): void => setPriority(PRIORITY_BELOW_NORMAL);

/** Restores the ordinary priority. Throws where the process may not. */
export const stopGivingWay = (): void => setPriority(PRIORITY_NORMAL);

/** Linux has a priority per thread. */
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

/** 0: the process, where its threads can't be listed. */
function threads(): readonly number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [0];
  }
}
