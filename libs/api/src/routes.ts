/** Owns the list of all routes, by name; the order is that of the reference. */

import { confirm, decide, pinWorkflow, revokeLease, signalWorkflow } from './routes/actions.ts';
import { followWorkflow } from './routes/follow.ts';
import { listCheckpoints, listEffects, listEvents, listTasks } from './routes/history.ts';
import { getResult, getWorkflow, listDefinitions, listWorkflows, startWorkflow } from './routes/workflows.ts';

export const routes = {
  startWorkflow,
  listWorkflows,
  getWorkflow,
  getResult,
  listDefinitions,
  listCheckpoints,
  listEffects,
  listTasks,
  listEvents,
  signalWorkflow,
  decide,
  confirm,
  pinWorkflow,
  revokeLease,
} as const;

export type Routes = typeof routes;

export const streamRoutes = { followWorkflow } as const;

export type StreamRoutes = typeof streamRoutes;
