/** Owns `tidemark jobs`: one thing done to many workflows, counted beforehand, begun, watched and cancelled. */

import { InvalidError, isClosed, isoTime, type Json, type StreamStatus, type TenantId, tenantId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import { type BulkAct, type BulkCount, type BulkJob, checkMeant } from '@tidemark/runtime';
import { readJson } from '../input.ts';
import { JOB_LOOK_MS } from '../limits.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import type { Desk } from '../state/desk.ts';
import { awaitRow } from '../state/require-workflow.ts';
import { whoGoesOn } from '../state/who-goes-on.ts';
import { table } from '../text/table.ts';
import { ago, count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { type FilterOptions, filterOf } from './filter-options.ts';

export interface JobPlace {
  readonly state?: string | undefined;
}

export interface StartJobOptions extends FilterOptions, JobPlace {
  readonly by?: string | undefined;
  readonly why?: string | undefined;
  readonly id?: string | undefined;
  readonly everything?: boolean | undefined;
  readonly signal?: string | undefined;
  readonly value?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly watch?: boolean | undefined;
}

export async function startJob(session: Session, act: BulkAct, options: StartJobOptions): Promise<number> {
  const { terminal } = session;
  const filter = filterOf(options);
  const { everything } = options;
  checkMeant(filter, everything);
  if (options.dryRun === true) {
    const found = await atDesk(session, { state: options.state, how: 'look' }, (desk) => desk.control.found(filter));
    const { count, hasMore, statuses } = found;
    const document = { act, dry_run: true, count, acted_count: actedCount(act, found), more: hasMore, statuses };
    terminal.document(document);
    terminal.line(foundLine(act, found));
    return EXIT.ok;
  }
  const { by, why, id = crypto.randomUUID() } = options;
  if (by === undefined || why === undefined) {
    throw new InvalidError(
      'by-invalid',
      `${by === undefined ? '--by' : '--why'}: say who asks and why; --dry-run alone needs neither.`,
    );
  }
  const signal = await signalOf(session, act, options);
  const request = {
    id,
    act,
    filter,
    everything,
    by,
    why,
    signal,
    ...(filter.tenant !== undefined && { tenant: filter.tenant }),
  };
  return atDesk(session, { state: options.state, how: 'look' }, async (desk) => {
    const { created } = await desk.control.startJob(request);
    if (options.watch === true) return follow(session, desk, id, filter.tenant ?? null);
    terminal.document({ job: id, act, created });
    const then = created ? whoGoesOn(desk) : 'It was begun before.';
    terminal.line(`Job ${printable(id)} is to ${act} what it finds. ${then}`);
    return EXIT.ok;
  });
}

async function signalOf(session: Session, act: BulkAct, { signal, value }: StartJobOptions) {
  if ((act === 'signal') !== (signal !== undefined)) {
    throw new InvalidError('signal-invalid', "--signal: name it for the act 'signal', and for that one only.");
  }
  if (signal === undefined) return null;
  const given: Json = value === undefined ? null : await readJson('--value', value, session);
  return { name: signal, value: given };
}

/** Of those found, the ones that have not ended: what has is refused by these acts. */
const actedCount = (act: BulkAct, { count: found, statuses }: BulkCount): number =>
  act === 'retry' || act === 'signal'
    ? found
    : Object.entries(statuses).reduce(
        (sum, [status, of]) => (isClosed({ status: status as StreamStatus }) ? sum : sum + of),
        0,
      );

function foundLine(act: BulkAct, told: BulkCount): string {
  const { count: found, hasMore, statuses, some } = told;
  if (found === 0) return 'Nothing fits: the job would do nothing.';
  const parts = Object.entries(statuses).map(([status, of]) => `${count(of)} ${status}`);
  const newest = some.map(printable).join(', ');
  const all = `${hasMore ? 'More than ' : ''}${counted(found, 'workflow')}`;
  const acted = actedCount(act, told);
  if (acted < found) {
    const more = hasMore ? 'more than ' : '';
    return `${count(acted)} open of ${more}${count(found)} found would be asked to ${act} (${parts.join(', ')}); the newest found: ${newest}.`;
  }
  return `${all} would be asked to ${act} (${parts.join(', ')}); the newest: ${newest}.`;
}

export interface ListJobsOptions extends JobPlace {
  readonly tenant?: string | undefined;
  readonly limit: number;
}

export async function listJobs(session: Session, { tenant, limit, state }: ListJobsOptions): Promise<number> {
  const { terminal } = session;
  const of = tenant === undefined ? null : filterOf({ tenant }).tenant!;
  const jobs = await atDesk(session, { state, how: 'look' }, (desk) => desk.control.jobs({ tenant: of, limit }));
  terminal.document({ jobs: jobs.map(jobJson) });
  const columns = [
    { title: 'JOB', shrinksTo: 16 },
    { title: 'ACT' },
    { title: 'STATUS' },
    { title: 'DONE', align: 'right' },
    { title: 'REFUSED', align: 'right' },
    { title: 'BEGUN' },
    { title: 'BY', shrinksTo: 8 },
    { title: 'WHY', shrinksTo: 8 },
  ] as const;
  const rows = jobs.map((job) => [
    ...[printable(job.id), job.act, job.status, count(job.doneCount), count(job.refusedCount)],
    ...[ago(job.openedAtMs, Date.now()), printable(job.by), printable(job.why)],
  ]);
  terminal.lines(rows.length === 0 ? ['No jobs.'] : table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}

export interface OneJobOptions extends JobPlace {
  readonly tenant?: string | undefined;
}

const whose = ({ tenant }: OneJobOptions): TenantId | null => (tenant === undefined ? null : tenantId(tenant));

export async function showJob(session: Session, id: string, options: OneJobOptions): Promise<number> {
  const job = await atDesk(session, { state: options.state, how: 'look' }, (desk) =>
    requireJob(desk, id, whose(options)),
  );
  session.terminal.document(jobJson(job));
  session.terminal.lines(jobLines(job));
  return EXIT.ok;
}

export interface CancelJobOptions extends OneJobOptions {
  readonly by: string;
  readonly why: string;
}

export async function cancelJob(session: Session, id: string, options: CancelJobOptions): Promise<number> {
  const { by, why, state } = options;
  const { changed } = await atDesk(session, { state, how: 'look' }, async (desk) => {
    const { tenant } = await requireJob(desk, id, whose(options));
    return desk.control.cancelJob(id, { by, why }, tenant);
  });
  session.terminal.document({ job: id, changed });
  session.terminal.line(
    changed ? `Job ${printable(id)} stops; what it has done stays done.` : `Job ${printable(id)} was cancelled before.`,
  );
  return EXIT.ok;
}

export const watchJob = (session: Session, id: string, options: OneJobOptions): Promise<number> =>
  atDesk(session, { state: options.state, how: 'look' }, (desk) => follow(session, desk, id, whose(options)));

/** Until it has ended. */
async function follow(session: Session, desk: Desk, id: string, tenant: TenantId | null): Promise<number> {
  const { terminal } = session;
  const { signal, release } = takeInterrupts(session);
  try {
    let told = '';
    while (!signal.aborted) {
      const job = await requireJob(desk, id, tenant);
      const now = JSON.stringify([job.status, job.doneCount, job.refusedCount]);
      if (now !== told) {
        terminal.record(jobJson(job));
        terminal.line(`${job.status}  ${count(job.doneCount)} done, ${count(job.refusedCount)} refused`);
      }
      told = now;
      if (job.status !== 'open') {
        for (const line of refusedLines(job)) terminal.line(line);
        return job.status === 'completed' ? EXIT.ok : EXIT.failed;
      }
      await new Promise((resolve) => setTimeout(resolve, JOB_LOOK_MS));
    }
    return EXIT.interrupted;
  } finally {
    release();
  }
}

/** One that was begun a moment ago may not be in the rows yet. */
async function requireJob(desk: Desk, id: string, tenant: TenantId | null): Promise<BulkJob> {
  const job = await awaitRow(desk, async () => (await desk.control.job(id, tenant)) ?? undefined);
  if (job !== undefined) return job;
  throw new InvalidError('job-unknown', `No job has the id '${printable(id)}'; tidemark jobs lists those there are.`);
}

const jobJson = ({ id, openedAtMs, doneCount, refusedCount, ...job }: BulkJob) => ({
  job: id,
  ...job,
  begun_at: isoTime(openedAtMs),
  done_count: doneCount,
  refused_count: refusedCount,
});

const jobLines = (job: BulkJob): readonly string[] => [
  `${printable(job.id)}  ${job.act}  ${job.status}${job.reason === null ? '' : ` (${printable(job.reason)})`}`,
  `begun ${ago(job.openedAtMs, Date.now())} by ${printable(job.by)}: ${printable(job.why)}`,
  `${count(job.doneCount)} done, ${count(job.refusedCount)} refused`,
  ...refusedLines(job),
];

const refusedLines = ({ refused }: BulkJob): readonly string[] =>
  refused.map(({ workflow, code, message }) => `  ${printable(workflow)}  ${code}: ${printable(message)}`);
