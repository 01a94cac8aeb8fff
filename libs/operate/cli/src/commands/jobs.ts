/** Owns `tidemark jobs`: one action on many workflows, counted beforehand, started, watched and cancelled. */

import { type Answer, type Client, TidemarkApiError } from '@tidemark/client';
import { InvalidError, isClosed, type Json, type StreamStatus } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { type BulkAct, checkMeant } from '@tidemark/runtime/names';
import { patiently } from '../follow/follower.ts';
import { readJson } from '../input.ts';
import { JOB_POLL_MS, RETRY_PAUSE_MS, UNKNOWN_GRACE_MS } from '../limits.ts';
import { continuesWith } from '../place/next-holder.ts';
import { firstOf } from '../place/pages.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import { type FilterOptions, queryOf } from '../program/filter-options.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { table } from '../text/table.ts';
import { ago, count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

type Job = Answer<'GET /v1/jobs/{job}'>;
type JobCount = Answer<'POST /v1/jobs/count'>;

export interface StartJobOptions extends FilterOptions, PlaceOptions {
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
  const { tag: tags, ...fields } = queryOf(options);
  const filter = { ...fields, ...(tags !== undefined && { tags }) };
  const { everything, why, id = crypto.randomUUID() } = options;
  checkMeant({ ...fields, tags, tenant: undefined }, everything);
  if (options.dryRun === true) {
    const found = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
      client.ask('POST /v1/jobs/count', { body: { filter } }, { isRepeatable: true }),
    );
    terminal.answer({ act, dry_run: true, acted_count: actedCount(act, found), ...found });
    terminal.line(foundLine(act, found));
    return EXIT.ok;
  }
  if (why === undefined) {
    throw new InvalidError('why-invalid', '--why: say why it is done; --dry-run alone needs no reason.');
  }
  const signal = await signalOf(session, act, options);
  const body = {
    ...{ id, act, filter, why },
    ...(everything === true && { everything }),
    ...(signal !== undefined && { signal }),
  };
  return atPlace(session, { ...options, how: 'read' }, async (place) => {
    const done = await place.client.ask('POST /v1/jobs', { body }, { isRepeatable: true });
    if (options.watch === true) return follow(session, place.client, id, fields.tenant);
    terminal.answer(done);
    const then = done.created ? continuesWith(place) : 'It was begun before.';
    terminal.line(`Job ${printable(id)} is to ${act} what it finds. ${then}`);
    return EXIT.ok;
  });
}

async function signalOf(session: Session, act: BulkAct, { signal, value }: StartJobOptions) {
  if ((act === 'signal') !== (signal !== undefined)) {
    throw new InvalidError('signal-invalid', "--signal: name it for the act 'signal', and for that one only.");
  }
  if (signal === undefined) return undefined;
  const given: Json = value === undefined ? null : await readJson('--value', value, session);
  return { name: signal, value: given };
}

/** Only open ones of those found: these actions refuse closed workflows. */
const actedCount = (act: BulkAct, { count: found, statuses }: JobCount): number =>
  act === 'retry' || act === 'signal'
    ? found
    : Object.entries(statuses).reduce(
        (sum, [status, of]) => (isClosed({ status: status as StreamStatus }) ? sum : sum + of),
        0,
      );

function foundLine(act: BulkAct, reported: JobCount): string {
  const { count: found, has_more: hasMore, statuses, newest: some } = reported;
  if (found === 0) return 'Nothing fits: the job would do nothing.';
  const parts = Object.entries(statuses).map(([status, of]) => `${count(of)} ${status}`);
  const newest = some.map(printable).join(', ');
  const all = `${hasMore ? 'More than ' : ''}${counted(found, 'workflow')}`;
  const acted = actedCount(act, reported);
  if (acted < found) {
    const more = hasMore ? 'more than ' : '';
    return `${count(acted)} open of ${more}${count(found)} found would be asked to ${act} (${parts.join(', ')}); the newest found: ${newest}.`;
  }
  return `${all} would be asked to ${act} (${parts.join(', ')}); the newest: ${newest}.`;
}

export interface ListJobsOptions extends PlaceOptions {
  readonly tenant?: string | undefined;
  readonly limit: number;
}

export async function listJobs(session: Session, options: ListJobsOptions): Promise<number> {
  const { terminal } = session;
  const { tenant, limit } = options;
  const { items, next_cursor } = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    firstOf(
      limit,
      (page) => client.ask('GET /v1/jobs', { query: { ...page, ...(tenant !== undefined && { tenant }) } }),
      (page) => page.jobs,
    ),
  );
  terminal.answer({ jobs: items, next_cursor });
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
  const rows = items.map((job) => [
    ...[printable(job.job), job.act, job.status, count(job.done_count), count(job.refused_count)],
    ...[ago(Date.parse(job.begun_at), Date.now()), printable(job.by), printable(job.why ?? '')],
  ]);
  terminal.lines(rows.length === 0 ? ['No jobs.'] : table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}

export interface OneJobOptions extends PlaceOptions {
  readonly tenant?: string | undefined;
}

const jobOf = (client: Client, job: string, tenant: string | undefined): Promise<Job> =>
  client.ask('GET /v1/jobs/{job}', { params: { job }, query: tenant === undefined ? {} : { tenant } });

export async function showJob(session: Session, id: string, options: OneJobOptions): Promise<number> {
  const job = await atPlace(session, { ...options, how: 'read' }, ({ client }) => jobOf(client, id, options.tenant));
  session.terminal.answer(job);
  session.terminal.lines(jobLines(job));
  return EXIT.ok;
}

export interface CancelJobOptions extends OneJobOptions {
  readonly by?: string | undefined;
  readonly why: string;
}

export async function cancelJob(session: Session, job: string, options: CancelJobOptions): Promise<number> {
  const { why, tenant } = options;
  const input = { params: { job }, query: tenant === undefined ? {} : { tenant }, body: { why } };
  const done = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('POST /v1/jobs/{job}/cancel', input, { isRepeatable: true }),
  );
  session.terminal.answer(done);
  session.terminal.line(
    done.changed
      ? `Job ${printable(job)} stops; what it has done stays done.`
      : `Job ${printable(job)} was cancelled before.`,
  );
  return EXIT.ok;
}

export const watchJob = (session: Session, id: string, options: OneJobOptions): Promise<number> =>
  atPlace(session, { ...options, how: 'read' }, ({ client }) => follow(session, client, id, options.tenant));

/** Follows it until it has ended. */
async function follow(session: Session, client: Client, id: string, tenant: string | undefined): Promise<number> {
  const { terminal } = session;
  const { signal, release } = takeInterrupts(session);
  try {
    let reported = '';
    const knownByMs = performance.now() + UNKNOWN_GRACE_MS;
    while (!signal.aborted) {
      // A job that has just begun may not be in the rows yet.
      const job = await patiently(signal, undefined, () => jobOf(client, id, tenant)).catch((error: unknown) => {
        const isUnknown = error instanceof TidemarkApiError && error.code === 'job-unknown';
        if (!isUnknown || performance.now() >= knownByMs) throw error;
      });
      if (job === undefined) {
        await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
        continue;
      }
      const now = JSON.stringify([job.status, job.done_count, job.refused_count]);
      if (now !== reported) {
        terminal.record(job);
        terminal.line(`${job.status}  ${count(job.done_count)} done, ${count(job.refused_count)} refused`);
      }
      reported = now;
      if (job.status !== 'open') {
        for (const line of refusedLines(job)) terminal.line(line);
        return job.status === 'completed' ? EXIT.ok : EXIT.failed;
      }
      await new Promise((resolve) => setTimeout(resolve, JOB_POLL_MS));
    }
    return EXIT.interrupted;
  } finally {
    release();
  }
}

const jobLines = (job: Job): readonly string[] => [
  `${printable(job.job)}  ${job.act}  ${job.status}${job.reason === null ? '' : ` (${printable(job.reason)})`}`,
  `begun ${ago(Date.parse(job.begun_at), Date.now())} by ${printable(job.by)}: ${printable(job.why ?? '')}`,
  `${count(job.done_count)} done, ${count(job.refused_count)} refused`,
  ...refusedLines(job),
];

const refusedLines = ({ refused }: Job): readonly string[] =>
  refused.map(({ workflow, code, message }) => `  ${printable(workflow)}  ${code}: ${printable(message)}`);
