/** Owns `tidemark queues`: work by definition, and pausing all of it until it is resumed. */

import type { Answer } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { ago, count } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface QueuesOptions extends PlaceOptions {
  readonly tenant?: string | undefined;
}

export interface SteerQueueOptions extends QueuesOptions {
  readonly by?: string | undefined;
  readonly why: string;
  /** For pausing: also where no such workflow is known yet. */
  readonly future?: boolean | undefined;
}

export type Queue = Answer<'GET /v1/queues'>['queues'][number];

export async function listQueues(session: Session, options: QueuesOptions): Promise<number> {
  const { terminal } = session;
  const { tenant } = options;
  const query = tenant === undefined ? {} : { tenant };
  const answer = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/queues', { query }),
  );
  terminal.answer(answer);
  const { queues } = answer;
  terminal.lines(
    queues.length === 0 ? ['Nothing waits for a worker, and nothing is held.'] : queueTable(queues, terminal.width),
  );
  return EXIT.ok;
}

function queueTable(queues: readonly Queue[], width: number | undefined): readonly string[] {
  const columns = [
    { title: 'WORKFLOW', shrinksTo: 12 },
    { title: 'TENANT', shrinksTo: 8 },
    { title: 'READY', align: 'right' },
    { title: 'RUNNING', align: 'right' },
    { title: 'HELD', shrinksTo: 12 },
  ] as const;
  const rows = queues.map(({ queue, tenant, ready_count, running_count, held }) => [
    ...[printable(queue), tenant === null ? '(all)' : printable(tenant), count(ready_count), count(running_count)],
    held.map(pausedWords).join('; '),
  ]);
  return table(columns, rows, { width });
}

const pausedWords = ({ tenant, by, why = '', since }: Queue['held'][number]): string =>
  `${ago(Date.parse(since), Date.now())} by ${printable(by)}${tenant === null ? ' for all' : ''}: ${printable(why)}`;

export function pauseQueue(session: Session, queue: string, options: SteerQueueOptions): Promise<number> {
  const { tenant, why, future } = options;
  return atPlace(session, { ...options, how: 'write' }, async ({ client }) => {
    const body = { why, ...(tenant !== undefined && { tenant }), ...(future === true && { future }) };
    const done = await client.ask('POST /v1/queues/{queue}/pause', { params: { queue }, body }, { isRepeatable: true });
    session.terminal.answer(done);
    const of = nameOf(queue, tenant);
    session.terminal.line(
      done.changed ? `${of} is held: nothing of it is claimed, steps under way finish.` : `${of} is held already.`,
    );
    return EXIT.ok;
  });
}

export function resumeQueue(session: Session, queue: string, options: SteerQueueOptions): Promise<number> {
  const { tenant, why } = options;
  return atPlace(session, { ...options, how: 'write' }, async ({ client }) => {
    const body = { why, ...(tenant !== undefined && { tenant }) };
    const done = await client.ask(
      'POST /v1/queues/{queue}/resume',
      { params: { queue }, body },
      { isRepeatable: true },
    );
    session.terminal.answer(done);
    const of = nameOf(queue, tenant);
    if (done.held) session.terminal.line(`${of} is still held, for all tenants.`);
    else session.terminal.line(done.changed ? `${of} goes on.` : `${of} isn't held.`);
    return EXIT.ok;
  });
}

const nameOf = (queue: string, tenant: string | undefined): string =>
  `${printable(queue)}${tenant === undefined ? '' : ` of tenant ${printable(tenant)}`}`;
