/** Owns the checks of the log and the rows, alike for a folder and a cluster. */

import type { Answer } from '@tidemark/client';
import { TidemarkError } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import { EXIT, exitCodeOf } from '@tidemark/host/exit-codes';
import { RETRY_PAUSE_MS, WAITING_PAGE_COUNT } from '../limits.ts';
import { firstOf } from '../place/pages.ts';
import { type Place, within } from '../place/place.ts';
import { bytes, count, counted } from '../text/units.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Rejected records that `doctor` reads to count their reasons. */
const REJECTED_READ_COUNT = 1_000;
/** Events behind the log from which `doctor` warns. */
const LAG_WARN_COUNT = 10_000;

type Fleet = Answer<'GET /v1/fleet'>;

/** Time, in milliseconds, in which lagging rows must come closer to the log. */
const LAG_WATCH_MS = 5_000;

/** The processes that do the coordinator's and the worker's work, for the remedies. */
export interface Staff {
  readonly coordinator: string;
  readonly worker: string;
}

const SURVIVED = { power: 'loss of power', process: 'the death of every process' };

/** Of a log that this process has open; `survived`: what it survives, by its durability. */
export async function checkLog({ ports: { log } }: Host, survived = SURVIVED): Promise<Finding> {
  const [partitions, size] = [await log.partitionCount(), await log.sizeBytes()];
  return ok('Log', `${counted(partitions, 'partition')}, ${bytes(size)}; survives ${survived[log.durability]}`);
}

export async function checkHealth(place: Place, staff: Staff): Promise<readonly Finding[]> {
  const { client, isIdle } = place;
  const fleet = await client.ask('GET /v1/fleet', {});
  const lag = await checkLag(place, fleet, staff);
  const { items: rejected } = await firstOf(
    REJECTED_READ_COUNT,
    (query) => client.ask('GET /v1/rejected', { query }),
    (page) => page.rejected,
  );
  return [
    checkReady(fleet, staff),
    ...(await checkReadable(place, fleet)),
    lag,
    checkOpenings(fleet, staff),
    checkRejected(fleet.rejected_count ?? 0, rejected),
    checkWork(fleet, staff, isIdle),
    await checkParked(place, fleet),
  ];
}

function checkReady({ rows_ready: isReady }: Fleet, { coordinator }: Staff): Finding {
  if (isReady) return ok('Rows', 'complete');
  const remedy = `They are rebuilt from the log by ${coordinator}; until then nothing starts and nothing is claimed.`;
  return warn('Rows', 'not complete', remedy);
}

/** Whether the named keys, and those in the key store, open the input of the newest workflow. */
async function checkReadable(place: Place, { rows_ready: isReady }: Fleet): Promise<readonly Finding[]> {
  if (!isReady) return [];
  const { client } = place;
  try {
    const [newest] = (await client.list({ limit: 1 })).workflows;
    if (newest === undefined) return [];
    await within(place, () => client.run(newest.workflow).get());
    return [ok('History', `what ${newest.workflow} was started with, the newest, can be read`)];
  } catch (error) {
    // Other checks cover everything else that may be unreachable.
    if (!(error instanceof TidemarkError) || !/^(keys?-|history-sealed$|sealed-wrong$)/.test(error.code)) return [];
    return [fail('History', error.message, READABLE_REMEDY, exitCodeOf(error))];
  }
}

const READABLE_REMEDY =
  'docs/encryption.md, "When something is wrong", says which copy to restore or which setting to correct.';

/** Lag is normal while it shrinks. */
async function checkLag({ client }: Place, first: Fleet, { coordinator }: Staff): Promise<Finding> {
  const before = first.lag?.events ?? 0;
  const deadlineMs = performance.now() + LAG_WATCH_MS;
  let lag = first.lag ?? { events: 0, partitions: 0 };
  while (lag.events > 0 && lag.events >= before && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS * 4));
    lag = (await client.ask('GET /v1/fleet', {})).lag ?? lag;
  }
  if (lag.events === 0) return ok('Projection', 'rows hold all of the log');
  const message = `rows are ${counted(lag.events, 'event')} behind the log in ${counted(lag.partitions, 'partition')}`;
  if (lag.events >= before) {
    return warn('Projection', `${message}, and not catching up`, `Is ${coordinator} running?`);
  }
  if (lag.events < LAG_WARN_COUNT) return ok('Projection', `${message}, and catching up`);
  return warn('Projection', message, 'It catches up; if it stays so, add coordinators or check the load of Postgres.');
}

function checkOpenings(fleet: Fleet, { coordinator }: Staff): Finding {
  const unappendedCount = fleet.unappended_count ?? 0;
  if (unappendedCount === 0) return ok('Starts', 'every placed workflow is in the log');
  const message = `${counted(unappendedCount, 'placed workflow')} not known to be in the log`;
  return warn('Starts', message, `Within seconds ${coordinator} appends them; if it stays so, read its warnings.`);
}

/** Reasons that follow from take-overs and repetitions, as intended. */
const HARMLESS: ReadonlySet<string> = new Set([
  'stale-epoch',
  'wrong-holder',
  'duplicate',
  'ordinal-gap',
  'closed',
  // The same, once another workflow has begun in its place.
  'wrong-generation',
  'parked',
  'unknown-task',
  'not-asked',
]);

type Rejected = Pick<Answer<'GET /v1/rejected'>['rejected'][number], 'reason' | 'partition' | 'offset'>;

export function checkRejected(rejectedCount: number, newest: readonly Rejected[]): Finding {
  if (rejectedCount === 0) return ok('Rejected', 'no record was rejected');
  const reasons = new Map<string, number>();
  for (const { reason } of newest) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const list = [...reasons].sort(([, a], [, b]) => b - a).map(([reason, many]) => `${count(many)} ${reason}`);
  const ofNewest = newest.length < rejectedCount ? `, of the newest ${count(newest.length)}` : '';
  const message = `${counted(rejectedCount, 'record')} rejected: ${list.join(', ')}${ofNewest}`;
  const odd = newest.find(({ reason }) => !HARMLESS.has(reason));
  if (odd === undefined) return ok('Rejected', `${message} (repetitions and zombies, kept out: nothing to do)`);
  const place = `partition ${odd.partition}, offset ${odd.offset}`;
  const oddReasons = [...reasons.keys()].filter((reason) => !HARMLESS.has(reason)).join(', ');
  const remedy = `They changed nothing. Look for another writer to this log, or one of another version, for ${oddReasons}: the newest is ${odd.reason} at ${place}.`;
  return warn('Rejected', message, remedy);
}

function checkWork(fleet: Fleet, { worker }: Staff, isIdle: boolean): Finding {
  const openCount = countOf(fleet, 'open');
  // Where no process runs workflows, a lease is a dead process's.
  const leasedCount = isIdle ? 0 : fleet.running_count;
  const runnableCount = (fleet.ready_count ?? 0) + fleet.running_count - leasedCount;
  const message = `${counted(openCount, 'open workflow')}: ${count(leasedCount)} running, ${count(runnableCount)} ready`;
  if (runnableCount === 0 || leasedCount > 0) return ok('Workflows', message);
  return warn('Workflows', message, `Nobody runs them: start ${worker} that knows their definitions.`);
}

const countOf = ({ workflows }: Fleet, status: Fleet['workflows'][number]['status']): number =>
  workflows.find((one) => one.status === status)?.count ?? 0;

/** A question stops a workflow, and is warned of; approvals of tasks are part of its work. */
async function checkParked({ client }: Place, fleet: Fleet): Promise<Finding> {
  const [newest] = (await client.list({ status: 'parked', limit: 1 })).workflows;
  const query = { limit: WAITING_PAGE_COUNT, content: 'false' } as const;
  const { approvals, next_cursor: more } = await client.ask('GET /v1/approvals', { query });
  const many = `${more === null ? '' : 'more than '}${counted(approvals.length, 'task')}`;
  const tasks =
    approvals.length === 0
      ? ''
      : `; ${many} ${approvals.length === 1 ? 'waits' : 'wait'} for an approval (tidemark approvals lists them)`;
  if (newest === undefined) return ok('Decisions', `no workflow is stopped by a question to a person${tasks}`);
  const parked = Math.max(countOf(fleet, 'parked'), 1);
  const message = `${counted(parked, 'workflow')} ${parked === 1 ? 'waits' : 'wait'} for a person, the newest ${newest.workflow} (${newest.reason})${tasks}`;
  return warn(
    'Decisions',
    message,
    'tidemark ls --status parked lists them, tidemark show ID says why and how to answer.',
  );
}

/** The worst of all: the command's exit code. */
export const exitCodeOfFindings = (findings: readonly Finding[]): number =>
  findings.find(({ level }) => level === 'fail')?.exitCode ?? EXIT.ok;
