/** Owns the colour of each state of a workflow, and what a list says of its last action. */

import type { Workflow } from '@tidemark/client';
import type { Colour } from '../terminal.ts';
import { localTimes } from '../text/units.ts';

/** Why it does not move; else how it ended, or its last action. */
export const lastWords = ({ activity, reason, last_action: last, waits_for: waits }: Workflow): string =>
  waits == null || activity === 'running' ? (reason ?? last) : localTimes(waits.text, Date.now());

export const ACTIVITY_COLOURS: Readonly<Record<Workflow['activity'], Colour>> = {
  running: 'cyan',
  ready: 'cyan',
  waiting: 'yellow',
  parked: 'yellow',
  compensating: 'yellow',
  compensated: 'yellow',
  completed: 'green',
  failed: 'red',
};
