/** Owns how a step's progress reads on one line. Pure. */

import { count } from './units.ts';
import { printable } from './width.ts';

/** Columns of the bar itself. */
const BAR_COLUMNS = 24;

export interface StepProgress {
  readonly step: string;
  readonly done: number;
  readonly total: number;
  readonly text?: string | undefined;
}

/** `parse ████████░░░░░░░░ 12 of 40  src/main.ts`. */
export function progressBar({ step, done, total, text }: StepProgress): string {
  const share = total > 0 ? Math.min(Math.max(done / total, 0), 1) : 0;
  const full = Math.round(share * BAR_COLUMNS);
  const bar = '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full);
  const said = text === undefined || text === '' ? '' : `  ${printable(text)}`;
  return `${printable(step)} ${bar} ${count(done)} of ${count(total)}${said}`;
}
