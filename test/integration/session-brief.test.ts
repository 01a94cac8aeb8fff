/** What somebody is told who goes on with a session: over real rows, with workflows that ended and one that waits. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DEFAULT_TENANT, type TenantId, tenantId } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { sessionBrief } from '@tidemark/runtime';
import { checkpointNote, constraint, defineEffect, defineWorkflow, pending, task, taskGoal } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

const TIMEOUT_MS = 60_000;

const depot = defineEffect({
  operation: 'depot.order',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({}),
  call: async () => pending('token-1'),
});

const order = defineWorkflow({
  name: 'order',
  version: 3,
  input: z.object({ item: z.string(), waits: z.boolean() }),
  belief: z.object({ looked: z.boolean() }),
  output: z.object({ sent: z.string() }),
  tasks: { look: z.object({}), fetch: z.object({}), send: z.object({ to: z.string() }) },
  flow: { look: ['fetch', 'send'], fetch: [], send: [] },
  effects: [depot],
  begin: ({ item }) => ({
    belief: { looked: false },
    next: [task('look', {})],
    fragments: [taskGoal(`Send ${item}.`), constraint('By post.')],
  }),
  steps: {
    look(ctx) {
      const noted = { belief: () => ({ looked: true }), lastAction: 'looked for it' };
      const send = task('send', { to: 'Ghent' });
      if (!ctx.input.waits) return { ...noted, next: [send] };
      const fetch = task('fetch', {});
      return {
        ...noted,
        next: [fetch, task('send', { to: 'Ghent' }, { after: [fetch] })],
        fragments: [checkpointNote('Out of stock here.')],
      };
    },
    async fetch(ctx) {
      await ctx.effect(depot, {});
      return {};
    },
    send: (ctx) => ({ done: { sent: ctx.input.item } }),
  },
});

async function world() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-brief-'));
  const host = await openEmbedded({ folder });
  onTestFinished(async () => {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  });
  await host.startWorker({ definitions: [order], concurrency: 4 });
  const { client, ports } = host;
  const brief = (session: string, tenant: TenantId = DEFAULT_TENANT) => sessionBrief(ports.store, tenant, session);
  return { client, brief };
}

it(
  'tells the live workflow, what it waits for and why, and what the ones before it came to',
  async () => {
    const { client, brief } = await world();
    expect(await brief('s1')).toBeUndefined();
    const first = await client.start(order, { item: 'a vase', waits: false }, { id: 'o1', session: 's1', user: 'ana' });
    await first.result();
    const ended = await eventually(async () => (await brief('s1'))?.summaries.length === 1 && brief('s1'));
    expect(ended).toMatchObject({
      user: 'ana',
      is_live: false,
      workflow: { workflow: 'o1', status: 'completed', output: { sent: 'a vase' }, frontier: [], next_task: null },
      summaries: [{ session_id: 's1', task_description: 'Send a vase.' }],
    });

    await client.start(order, { item: 'a lamp', waits: true }, { id: 'o2', session: 's1', user: 'ana' });
    const waiting = await eventually(async () => {
      const found = await brief('s1');
      return found?.workflow?.frontier[0]?.why?.startsWith('waits for the confirmation') === true && found;
    });
    expect(waiting).toMatchObject({
      session: 's1',
      tenant: 'default',
      is_live: true,
      workflow: {
        workflow: 'o2',
        definition: 'order',
        definition_version: 3,
        goal: ['Send a lamp.'],
        constraints: ['By post.'],
        summary: null,
        checkpoint_note: 'Out of stock here.',
        last_action: 'looked for it',
        input: { item: 'a lamp', waits: true },
        belief: { looked: true },
        sequence_number: 1,
        pending_task_count: 2,
        next_task: null,
        question: null,
        frontier: [
          { step: 'fetch', state: 'blocked', effects: [{ operation: 'depot.order', status: 'pending' }] },
          { step: 'send', state: 'blocked', why: 'runs after 1.0 (fetch)', input: { to: 'Ghent' }, effects: [] },
        ],
      },
      earlier: [{ workflow: 'o1', status: 'completed' }],
    });
    // Plain data: the same after a socket.
    expect(JSON.parse(JSON.stringify(waiting))).toEqual(waiting);
    // Another tenant's session of this name is another session.
    expect(await brief('s1', tenantId('other'))).toBeUndefined();
  },
  TIMEOUT_MS,
);

it(
  'tells hand-overs, the newest first, also before any workflow was started',
  async () => {
    const { client, brief } = await world();
    const handed = (message: string) => ({ from: 'ann', to: 'bob', message, artifacts: ['a.pdf'] });
    await client.memory.handOver(DEFAULT_TENANT, 's2', handed('first'));
    await client.memory.handOver(DEFAULT_TENANT, 's2', handed('second'));
    const found = await brief('s2');
    expect(found).toMatchObject({ is_live: false, workflow: null, user: null, earlier: [], summaries: [] });
    expect(found?.handovers.map(({ message }) => message)).toEqual(['second', 'first']);
  },
  TIMEOUT_MS,
);
