/** Owns `tidemark queues`: work by definition, and holding all of it until it is resumed. */

import { isoTime, tenantId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { HeldQueue, QueueState } from '@tidemark/runtime';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import { table } from '../text/table.ts';
import { ago, count } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface QueuesOptions {
  readonly tenant?: string | undefined;
  readonly state?: string | undefined;
}

export interface SteerQueueOptions extends QueuesOptions {
  readonly by: string;
  readonly why: string;
  /** Of pausing: also where nothing is known of such a workflow yet. */
  readonly future?: boolean | undefined;
}

const ofWhom = (tenant: string | undefined) => (tenant === undefined ? null : tenantId(tenant));

export async function listQueues(session: Session, { tenant, state }: QueuesOptions): Promise<number> {
  const { terminal } = session;
  const queues = await atDesk(session, { state, how: 'look' }, (desk) => desk.control.queues(ofWhom(tenant)));
  terminal.document({ queues: queues.map(queueJson) });
  terminal.lines(
    queues.length === 0 ? ['Nothing waits for a worker, and nothing is held.'] : queueTable(queues, terminal.width),
  );
  return EXIT.ok;
}

export function queueTable(queues: readonly QueueState[], width: number | undefined): readonly string[] {
  const columns = [
    { title: 'WORKFLOW', shrinksTo: 12 },
    { title: 'TENANT', shrinksTo: 8 },
    { title: 'READY', align: 'right' },
    { title: 'RUNNING', align: 'right' },
    { title: 'HELD', shrinksTo: 12 },
  ] as const;
  const rows = queues.map(({ definition, tenant, readyCount, runningCount, held }) => [
    ...[printable(definition), tenant === null ? '(all)' : printable(tenant), count(readyCount), count(runningCount)],
    held.map(heldWords).join('; '),
  ]);
  return table(columns, rows, { width });
}

const heldWords = ({ tenant, by, why, sinceMs }: HeldQueue): string =>
  `${ago(sinceMs, Date.now())} by ${printable(by)}${tenant === null ? ' for all' : ''}: ${printable(why)}`;

export const queueJson = ({ definition, tenant, readyCount, runningCount, held }: QueueState) => ({
  ...{ queue: definition, tenant, ready_count: readyCount, running_count: runningCount },
  held: held.map(({ tenant: of, by, why, sinceMs }) => ({ tenant: of, by, why, since: isoTime(sinceMs) })),
});

const steering =
  (act: 'pause' | 'resume') =>
  async (
    session: Session,
    definition: string,
    { tenant, by, why, future, state }: SteerQueueOptions,
  ): Promise<number> => {
    const queue = { definition, tenant: ofWhom(tenant) };
    const done = await atDesk(session, { state, how: 'write' }, ({ control }) =>
      act === 'pause'
        ? control.pauseQueue(queue, { by, why }, future === true)
        : control.resumeQueue(queue, { by, why }),
    );
    const { terminal } = session;
    terminal.document({
      queue: definition,
      tenant: queue.tenant,
      act,
      changed: done.changed,
      held: done.held,
      by,
      why,
    });
    const of = `${printable(definition)}${tenant === undefined ? '' : ` of tenant ${printable(tenant)}`}`;
    if (act === 'pause') {
      terminal.line(
        done.changed ? `${of} is held: nothing of it is claimed, steps under way finish.` : `${of} is held already.`,
      );
    } else if (done.held) terminal.line(`${of} is still held, for all tenants.`);
    else terminal.line(done.changed ? `${of} goes on.` : `${of} isn't held.`);
    return EXIT.ok;
  };

export const pauseQueue = steering('pause');
export const resumeQueue = steering('resume');
