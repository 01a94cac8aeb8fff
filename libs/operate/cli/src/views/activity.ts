/** Owns in which colour each thing that a workflow may be up to is told. */

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
