/** Owns the colour of each state of a workflow. */

import type { Workflow } from '@tidemark/client';
import type { Colour } from '../terminal.ts';

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
