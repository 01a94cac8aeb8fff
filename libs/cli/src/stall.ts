/** Owns what is said when something takes longer than it should: what may be missing. */

import { STALL_NOTICE_MS } from './limits.ts';
import type { Place } from './state/desk.ts';
import type { Terminal } from './terminal.ts';

/** Settles as the work does. */
export function noticeStall<T>(terminal: Terminal, place: Place, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => {
    const missing = place.kind === 'cluster' ? ' Is a coordinator running? tidemark doctor shows what is missing.' : '';
    terminal.note(`Still waiting for ${place.kind === 'cluster' ? 'the cluster' : 'the state'}.${missing}`);
  }, STALL_NOTICE_MS);
  return work.finally(() => clearTimeout(timer));
}
