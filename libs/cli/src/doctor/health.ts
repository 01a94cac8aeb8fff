/** Owns the checks of what is in the log and the rows, alike for a folder and a cluster. */

import { sequence, TidemarkError } from '@tidemark/core';
import { EXIT, exitCodeOf } from '@tidemark/host';
import type { RejectedRow } from '@tidemark/ports';
import { LAG_WARN_COUNT, LIST_MAX_COUNT, REJECTED_READ_COUNT, RETRY_PAUSE_MS } from '../limits.ts';
import { type Desk, type Health, isIdle } from '../state/desk.ts';
import { bytes, count, counted } from '../text/units.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Time, in milliseconds, in which rows that lag must come nearer to the log. */
const LAG_WATCH_MS = 2_000;

/** Who does the coordinator's and the worker's work, in the remedies. */
export interface Staff {
  readonly coordinator: string;
  readonly worker: string;
}

export async function checkHealth(desk: Desk, staff: Staff): Promise<readonly Finding[]> {
  const health = await desk.health();
  const lag = await checkLag(desk, health, staff);
  return [
    ok(
      'Log',
      `${counted(health.log.partitionCount, 'partition')}, ${bytes(health.log.sizeBytes)}; survives ${health.log.durability === 'power' ? 'loss of power' : 'the death of every process'}`,
    ),
    checkReady(health, staff),
    ...(await checkReadable(desk, health)),
    lag,
    checkOpenings(health, staff),
    checkRejected(health, await desk.reads.rejected(REJECTED_READ_COUNT)),
    checkWork(health, staff, isIdle(desk)),
    await checkParked(desk),
  ];
}

function checkReady({ store }: Health, { coordinator }: Staff): Finding {
  const what = store.kind === 'pglite' ? 'rows in the folder' : 'rows in Postgres';
  if (store.ready) return ok('Rows', `${what}, complete`);
  const remedy = `They are rebuilt from the log by ${coordinator}; until then nothing starts and nothing is claimed.`;
  return warn('Rows', `${what}, not complete`, remedy);
}

/** Whether the keys that are named, and those in the key store, open what the newest workflow was started with. */
async function checkReadable({ reads }: Desk, { store }: Health): Promise<readonly Finding[]> {
  if (!store.ready) return [];
  try {
    const [newest] = await reads.workflows({ limit: 1 });
    if (newest === undefined) return [];
    await reads.checkpoints(newest.workflow, { from: sequence(0), limit: 1 });
    return [ok('History', `what ${newest.workflow} was started with, the newest, can be read`)];
  } catch (error) {
    // What else may be away has checks of its own.
    if (!(error instanceof TidemarkError) || !/^(keys?-|history-sealed$|sealed-wrong$)/.test(error.code)) return [];
    return [fail('History', error.message, READABLE_REMEDY, exitCodeOf(error))];
  }
}

const READABLE_REMEDY =
  'docs/encryption.md, "When something is wrong", tells which copy to put back or which setting to correct.';

/** Lag is normal while it shrinks. */
async function checkLag(desk: Desk, first: Health, { coordinator }: Staff): Promise<Finding> {
  const deadlineMs = performance.now() + LAG_WATCH_MS;
  let { log } = first;
  while (log.lagCount > 0 && log.lagCount >= first.log.lagCount && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS * 4));
    ({ log } = await desk.health());
  }
  if (log.lagCount === 0) return ok('Projection', 'rows hold all of the log');
  const message = `rows are ${counted(log.lagCount, 'event')} behind the log in ${counted(log.laggingPartitionCount, 'partition')}`;
  if (log.lagCount >= first.log.lagCount) {
    return warn('Projection', `${message}, and not catching up`, `Is ${coordinator} running?`);
  }
  if (log.lagCount < LAG_WARN_COUNT) return ok('Projection', `${message}, and catching up`);
  return warn(
    'Projection',
    message,
    'It catches up; if it stays so, add coordinators or look at the load of Postgres.',
  );
}

function checkOpenings({ store }: Health, { coordinator }: Staff): Finding {
  const { unappendedCount } = store.counts;
  if (unappendedCount === 0) return ok('Starts', 'every placed workflow is in the log');
  const message = `${counted(unappendedCount, 'placed workflow')} not known to be in the log`;
  return warn('Starts', message, `Within seconds ${coordinator} appends them; if it stays so, look at its warnings.`);
}

/** Reasons that follow from take-overs and repetitions, as they are meant to. */
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

export function checkRejected({ store }: Pick<Health, 'store'>, newest: readonly RejectedRow[]): Finding {
  const { rejectedCount } = store.counts;
  if (rejectedCount === 0) return ok('Rejected', 'no record was rejected');
  const reasons = new Map<string, number>();
  for (const { reason } of newest) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const list = [...reasons].sort(([, a], [, b]) => b - a).map(([reason, many]) => `${count(many)} ${reason}`);
  const ofNewest = newest.length < rejectedCount ? `, of the newest ${count(newest.length)}` : '';
  const message = `${counted(rejectedCount, 'record')} rejected: ${list.join(', ')}${ofNewest}`;
  const odd = newest.find(({ reason }) => !HARMLESS.has(reason));
  if (odd === undefined) return ok('Rejected', `${message} (repetitions and zombies, kept out: nothing is to be done)`);
  const place = `partition ${odd.partition}, offset ${odd.offset}`;
  const oddReasons = [...reasons.keys()].filter((reason) => !HARMLESS.has(reason)).join(', ');
  const remedy = `They changed nothing. Look for another writer to this log, or one of another version, for ${oddReasons}: the newest is ${odd.reason} at ${place}.`;
  return warn('Rejected', message, remedy);
}

function checkWork({ store }: Health, { worker }: Staff, idle: boolean): Finding {
  const { openCount } = store.counts;
  // Where nobody runs anything, a lease is a dead process's.
  const leasedCount = idle ? 0 : store.counts.leasedCount;
  const runnableCount = store.counts.runnableCount + store.counts.leasedCount - leasedCount;
  const message = `${counted(openCount, 'open workflow')}: ${count(leasedCount)} running, ${count(runnableCount)} ready`;
  if (runnableCount === 0 || leasedCount > 0) return ok('Workflows', message);
  return warn('Workflows', message, `Nobody runs them: start ${worker} that knows their definitions.`);
}

async function checkParked(desk: Desk): Promise<Finding> {
  const parked = await desk.reads.workflows({ status: 'parked', limit: LIST_MAX_COUNT });
  if (parked.length === 0) return ok('Decisions', 'no workflow waits for a person');
  const [one] = parked;
  const message = `${counted(parked.length, 'workflow')} ${parked.length === 1 ? 'waits' : 'wait'} for a person, the newest ${one?.workflow} (${one?.reason})`;
  return warn(
    'Decisions',
    message,
    'tidemark ls --status parked lists them, tidemark show ID tells why and how to answer.',
  );
}

/** The worst of all: what the command exits with. */
export const exitCodeOfFindings = (findings: readonly Finding[]): number =>
  findings.find(({ level }) => level === 'fail')?.exitCode ?? EXIT.ok;
