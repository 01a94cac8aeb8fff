/** Owns the table of all routes: by chapter of the reference, in its order, each under the name of its operation. */

import type { AnyRoute } from './route.ts';
import * as access from './routes/access.ts';
import * as actions from './routes/actions.ts';
import * as approvals from './routes/approvals.ts';
import * as audit from './routes/audit.ts';
import * as errors from './routes/errors.ts';
import * as fleet from './routes/fleet.ts';
import * as following from './routes/follow.ts';
import * as handovers from './routes/handovers.ts';
import * as history from './routes/history.ts';
import * as jobs from './routes/jobs.ts';
import * as leases from './routes/leases.ts';
import * as lifecycle from './routes/lifecycle.ts';
import * as me from './routes/me.ts';
import * as memory from './routes/memory.ts';
import * as money from './routes/money.ts';
import * as past from './routes/past.ts';
import * as queues from './routes/queues.ts';
import * as records from './routes/records.ts';
import * as recovery from './routes/recovery.ts';
import * as reset from './routes/reset.ts';
import * as retention from './routes/retention.ts';
import * as scaling from './routes/scaling.ts';
import * as schedules from './routes/schedules.ts';
import * as sessions from './routes/sessions.ts';
import * as shadows from './routes/shadows.ts';
import * as timeline from './routes/timeline.ts';
import * as trace from './routes/trace.ts';
import * as unreadSignals from './routes/unread-signals.ts';
import * as workflows from './routes/workflows.ts';
import type { AnyStream } from './stream-route.ts';

const chapters = {
  Workflows: workflows,
  History: { ...history, ...handovers, ...timeline, ...unreadSignals },
  Actions: { ...actions, ...lifecycle },
  Approvals: approvals,
  'The past': { ...past, ...reset, ...trace, ...recovery },
  Budgets: money,
  Sessions: sessions,
  Memory: { ...memory, ...records },
  Jobs: jobs,
  Queues: queues,
  Scaling: scaling,
  Schedules: schedules,
  Shadows: shadows,
  Fleet: { ...fleet, ...leases, ...errors, ...me },
  Retention: retention,
  Access: { ...access, ...audit },
};
const streamChapters = { Following: following };

/** Any of the declarations. */
type In<Chapters> = { [C in keyof Chapters]: Chapters[C][keyof Chapters[C]] }[keyof Chapters];
export type Routes = In<typeof chapters>;
export type StreamRoutes = In<typeof streamChapters>;

/** By chapter, then by address, then by name. */
function named<Any extends AnyRoute | AnyStream>(
  table: Readonly<Record<string, Readonly<Record<string, Routes | StreamRoutes>>>>,
): readonly Any[] {
  return Object.entries(table).flatMap(([chapter, routes]) => {
    const own = Object.entries(routes).map(([name, route]) => ({ ...route, name, chapter }));
    const placeOf = ({ path, name }: (typeof own)[number]): string => `${path} ${name}`;
    return own.sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  }) as unknown as readonly Any[];
}

export const allRoutes = named<AnyRoute>(chapters);
export const allStreams = named<AnyStream>(streamChapters);
