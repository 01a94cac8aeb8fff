/** Owns the colour of each state of a workflow, and what a list says of its last action. */

import type { Workflow } from '@tidemark/client';
import type { Colour } from '../terminal.ts';

/** Why it waits, where there is a reason; else the last action. */
export const lastWords = ({ reason, last_action: last, waits_for_build: waits }: Workflow): string =>
  reason ?? (waits === undefined ? last : `waits for build ${waits.build}`);

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
