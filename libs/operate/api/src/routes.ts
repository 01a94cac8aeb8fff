/** Owns the list of all routes, by name; the order is that of the reference. */

import {
  createKey,
  createTenant,
  getKey,
  listKeys,
  listTenants,
  resumeTenant,
  revokeKey,
  suspendTenant,
} from './routes/access.ts';
import { confirm, decide, judgeRecord, pinWorkflow, revokeLease, signalWorkflow } from './routes/actions.ts';
import { answerApproval, listApprovals } from './routes/approvals.ts';
import { getSecrets, listAudit } from './routes/audit.ts';
import { getFleet, getStorage, listQuestions, listRejected, listSegments } from './routes/fleet.ts';
import { followFleet, followWorkflow } from './routes/follow.ts';
import { listPhaseHandovers } from './routes/handovers.ts';
import { listCheckpoints, listEffects, listEvents, listTasks } from './routes/history.ts';
import { cancelJob, countJob, getJob, listJobs, startJob } from './routes/jobs.ts';
import { cancelWorkflow, pauseWorkflow, resumeWorkflow, retryWorkflow, terminateWorkflow } from './routes/lifecycle.ts';
import { whoAmI } from './routes/me.ts';
import {
  forgetFact,
  forgetPreference,
  getPreference,
  listFacts,
  listPreferences,
  recallMemories,
  rememberFact,
  setPreference,
} from './routes/memory.ts';
import { getWorkflowSpend, listBudgets, raiseBudget, setBudget } from './routes/money.ts';
import { compare, compareCalls, forkWorkflow, getWorkflowAt, listCallPlaces, listModelCalls } from './routes/past.ts';
import { listQueues, pauseQueue, resumeQueue } from './routes/queues.ts';
import { listRecords, writeRecords } from './routes/records.ts';
import { getRecovery } from './routes/recovery.ts';
import { getRetention, holdHistory, releaseHold, setRetention } from './routes/retention.ts';
import { getPool, listPools } from './routes/scaling.ts';
import { fireSchedule, listSchedules, setSchedule } from './routes/schedules.ts';
import { getSession, handOver, resumeSession } from './routes/sessions.ts';
import { getShadow, promoteShadow } from './routes/shadows.ts';
import { getTimeline } from './routes/timeline.ts';
import { getTrace } from './routes/trace.ts';
import {
  getResult,
  getWorkflow,
  listChildren,
  listDefinitions,
  listWorkflows,
  startWorkflow,
} from './routes/workflows.ts';

export const routes = {
  startWorkflow,
  listWorkflows,
  getWorkflow,
  getResult,
  listChildren,
  listDefinitions,
  listCheckpoints,
  listEffects,
  listTasks,
  listEvents,
  listPhaseHandovers,
  getTimeline,
  signalWorkflow,
  decide,
  listApprovals,
  answerApproval,
  confirm,
  pinWorkflow,
  judgeRecord,
  revokeLease,
  pauseWorkflow,
  resumeWorkflow,
  cancelWorkflow,
  terminateWorkflow,
  retryWorkflow,
  getWorkflowAt,
  listCallPlaces,
  listModelCalls,
  compareCalls,
  compare,
  forkWorkflow,
  getTrace,
  getRecovery,
  getWorkflowSpend,
  raiseBudget,
  listBudgets,
  setBudget,
  getSession,
  resumeSession,
  handOver,
  recallMemories,
  listFacts,
  rememberFact,
  forgetFact,
  listPreferences,
  getPreference,
  setPreference,
  forgetPreference,
  listRecords,
  writeRecords,
  countJob,
  startJob,
  getJob,
  cancelJob,
  listJobs,
  listQueues,
  pauseQueue,
  resumeQueue,
  listPools,
  getPool,
  setSchedule,
  listSchedules,
  fireSchedule,
  getShadow,
  promoteShadow,
  getFleet,
  whoAmI,
  listQuestions,
  listRejected,
  listSegments,
  getStorage,
  getRetention,
  setRetention,
  holdHistory,
  releaseHold,
  createKey,
  listKeys,
  getKey,
  revokeKey,
  listTenants,
  createTenant,
  suspendTenant,
  resumeTenant,
  listAudit,
  getSecrets,
} as const;

export type Routes = typeof routes;

export const streamRoutes = { followWorkflow, followFleet } as const;

export type StreamRoutes = typeof streamRoutes;
