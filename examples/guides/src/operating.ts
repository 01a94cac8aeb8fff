/** Owns what pages of docs show of a client: priorities, schedules, retention, holds, and a run that is reported in shadow mode. */

import type { Client, Run, ScheduleState } from '@tidemark/runtime';
import { defineWorkflow, type TenantId, task, type WorkflowId } from '@tidemark/sdk';
import { z } from 'zod';
import { report } from './dispatch.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

export const regional = defineWorkflow({
  name: 'regional',
  version: 1,
  input: z.object({ region: z.string(), day: z.string() }),
  belief: z.object({}),
  output: z.object({ pages: z.number() }),
  tasks: { write: z.object({}) },
  flow: { write: [] },
  begin: () => ({ belief: {}, next: [task('write', {})] }),
  steps: { write: () => ({ done: { pages: 1 } }) },
});

export async function startFirst(client: Client): Promise<Run<unknown>> {
  return client.start(report, { urgent: false }, { priority: 1 });
}

export async function everyNight(client: Client): Promise<ScheduleState> {
  await client.schedules.set(
    regional,
    { region: 'eu' },
    {
      id: 'nightly-report',
      cron: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      overlap: 'skip',
      catchUp: 1,
      slotField: 'day',
    },
  );
  const [schedule] = await client.schedules.list({ limit: 1, count: 1 });
  return schedule!;
}

export async function keepFor(client: Client, tenant: TenantId, workflow: WorkflowId): Promise<void> {
  await client.memory.setRetention(tenant, { warmMs: 30 * DAY_MS, keepMs: 365 * DAY_MS });
  // One workflow; null: all of the tenant's.
  await client.memory.hold(tenant, { id: 'case-7', workflow, by: 'ana', why: 'a dispute' });
  await client.memory.release(tenant, 'case-7');
}

export const triage = defineWorkflow({
  name: 'triage',
  version: 1,
  input: z.object({ id: z.string(), text: z.string() }),
  belief: z.object({ severity: z.int().nullable() }),
  output: z.object({ answered: z.boolean() }),
  tasks: { classify: z.object({}) },
  flow: { classify: [] },
  begin: () => ({ belief: { severity: null }, next: [task('classify', {})] }),
  steps: { classify: () => ({ done: { answered: true } }) },
});

export async function handled(client: Client, ticket: { readonly id: string; readonly text: string }) {
  const route = await client.route(triage, { id: ticket.id }); // agent, observed, or tidemark
  if (route === 'tidemark') return (await client.start(triage, ticket, { id: ticket.id })).result();
  return reported(client, ticket); // the agent runs it, as before
}

export async function reported(
  client: Client,
  ticket: { readonly id: string; readonly text: string },
): Promise<boolean> {
  const agent = { name: 'triage', version: 1 }; // or a workflow made with defineWorkflow
  const shadow = client.shadow(agent, {
    id: ticket.id, // the agent's own id of the run
    input: ticket,
    belief: { severity: null },
    next: [{ step: 'classify' }],
  });
  shadow.step({
    key: 'classify', // names the step in its run; reporting it twice is harmless
    step: 'classify',
    input: null, // left out: as the step that added it said
    next: [{ step: 'answer', input: { severity: 2 } }], // what the step added to do
    change: { severity: 2 }, // members of the belief that it set
    belief: { severity: 2 }, // all of the belief after it, as the agent has it
    pending: ['answer'], // all that the agent has to do after it, as it has it
    output: 2,
  });
  shadow.done({ answered: true }); // or shadow.failed(error)
  return shadow.flushed(); // only where the agent wants to wait: true once all is in the log
}
