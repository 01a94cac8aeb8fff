/** Owns the table of all endpoints by method and path. Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { AccessEndpoints } from './access.ts';
import type { ActionsEndpoints } from './actions.ts';
import type { ApprovalsEndpoints } from './approvals.ts';
import type { BudgetsEndpoints } from './budgets.ts';
import type { FleetEndpoints } from './fleet.ts';
import type { FollowingStreams } from './following.ts';
import type { HistoryEndpoints } from './history.ts';
import type { JobsEndpoints } from './jobs.ts';
import type { MemoryEndpoints } from './memory.ts';
import type { QueuesEndpoints } from './queues.ts';
import type { RetentionEndpoints } from './retention.ts';
import type { ScalingEndpoints } from './scaling.ts';
import type { SchedulesEndpoints } from './schedules.ts';
import type { SessionsEndpoints } from './sessions.ts';
import type { ShadowsEndpoints } from './shadows.ts';
import type { ThePastEndpoints } from './the-past.ts';
import type { WorkflowsEndpoints } from './workflows.ts';

export interface Endpoints
  extends WorkflowsEndpoints,
    HistoryEndpoints,
    ActionsEndpoints,
    ApprovalsEndpoints,
    ThePastEndpoints,
    BudgetsEndpoints,
    SessionsEndpoints,
    MemoryEndpoints,
    JobsEndpoints,
    QueuesEndpoints,
    ScalingEndpoints,
    SchedulesEndpoints,
    ShadowsEndpoints,
    FleetEndpoints,
    RetentionEndpoints,
    AccessEndpoints {}

export interface Streams extends FollowingStreams {}
