/** Owns `tidemark queues`: work by definition, and pausing all of it until it is resumed. */

import type { Answer } from '@tidemark/client';
import { nameText } from '../arguments.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { ofTenant, why } from '../program/shared-options.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { ago, count } from '../text/units.ts';
import { printable } from '../text/width.ts';

export type Queue = Answer<'GET /v1/queues'>['queues'][number];

export function addQueues(kit: ProgramKit): void {
  const { asks } = kit;
  const inGroup = group(kit, 'queues', 'work that waits, by workflow; pause and resume all of one');
  const sub = (usage: string, what: string, isDefault = false) => ofTenant(inGroup(usage, what, isDefault));
  sub('list', 'what is ready, running and paused', true).action(
    asks('read', ({ tenant }) => async ({ client, terminal, report }) => {
      const answer = await client.ask('GET /v1/queues', { query: { tenant } });
      const none = 'Nothing waits for a worker, and nothing is paused.';
      report(answer, ...tableOr(none, QUEUES, answer.queues, terminal.width));
    }),
  );
  const steer = (name: string, what: string) =>
    why(sub(name, what)).argument('<workflow>', 'name of the workflow', nameText);
  steer('pause', 'claim nothing of a workflow until it is resumed; steps under way finish, starts wait')
    .option('--future', 'also of one that nothing is known of yet')
    .action(
      asks('write', (queue, { tenant, why, future }) => async ({ client, report }) => {
        const input = { params: { queue }, body: { why, tenant, future } };
        const done = await client.ask('POST /v1/queues/{queue}/pause', input, { isRepeatable: true });
        const state = done.changed ? 'paused: nothing of it is claimed, steps under way finish.' : 'paused already.';
        report(done, `${nameOf(queue, tenant)} is ${state}`);
      }),
    );
  steer('resume', 'resume a paused queue').action(
    asks('write', (queue, { tenant, why }) => async ({ client, report }) => {
      const input = { params: { queue }, body: { why, tenant } };
      const done = await client.ask('POST /v1/queues/{queue}/resume', input, { isRepeatable: true });
      const then = done.changed ? 'is resumed.' : "isn't paused.";
      report(done, `${nameOf(queue, tenant)} ${done.held ? 'is still paused, for all tenants.' : then}`);
    }),
  );
}

const QUEUES: Columns<Queue> = [
  ['WORKFLOW', ({ queue }) => queue, 12],
  ['TENANT', ({ tenant }) => tenant ?? '(all)', 8],
  ['READY', ({ ready_count: ready }) => count(ready), 'right'],
  ['RUNNING', ({ running_count: running }) => count(running), 'right'],
  ['PAUSED', ({ held }) => held.map(pausedWords).join('; '), 12],
];

const pausedWords = ({ tenant, by, why = '', since }: Queue['held'][number]): string =>
  `${ago(Date.parse(since), Date.now())} by ${by}${tenant === null ? ' for all' : ''}: ${why}`;

const nameOf = (queue: string, tenant: string | undefined): string =>
  `${printable(queue)}${tenant === undefined ? '' : ` of tenant ${printable(tenant)}`}`;
