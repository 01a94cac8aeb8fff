/** A workflow's trace over HTTP: the spans of the export, page by page, and content for those alone who may see it and ask for it. */

import { connect } from '@tidemark/client';

import { isoTime, type WorkflowId } from '@tidemark/core';
import { defineWorkflow, task } from '@tidemark/sdk';
import { traceOf } from '@tidemark/traces';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { asking, type Served, sayingAuthenticator, serveApi } from './served.ts';

const counting = defineWorkflow({
  name: 'counting',
  version: 1,
  input: z.object({ to: z.int() }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { count: z.object({ left: z.int() }) },
  flow: { count: ['count'] },
  starts: ['count'],
  begin: ({ to }) => ({ belief: {}, next: [task('count', { left: to })] }),
  steps: {
    count: (_, { left }) => (left === 0 ? { done: {} } : { next: [task('count', { left: left - 1 })] }),
  },
});

/** As many spans as one page has. */
const TRACE_PAGE_COUNT = 2_000;
let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [asking, counting] });
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });
const page = (workflow: string, query: { from?: number; content?: 'true' } = {}, token?: string) =>
  client(token).ask('GET /v1/workflows/{workflow}/trace', { params: { workflow }, query });

it('is told page by page, each span once, as it is drawn', async () => {
  await (await client().start('counting', { to: TRACE_PAGE_COUNT }, { id: 'long' })).result();
  const first = await page('long');
  expect([first.spans.length, first.next_from]).toEqual([TRACE_PAGE_COUNT, TRACE_PAGE_COUNT]);
  const second = await page('long', { from: TRACE_PAGE_COUNT });
  expect(second.next_from).toBeNull();
  // Whoever doesn't have it any more draws it again.
  expect(await page('long', { from: TRACE_PAGE_COUNT })).toEqual(second);
  const { spans } = await traceOf(served.host.ports, 'long' as WorkflowId);
  const reported = [...first.spans, ...second.spans];
  expect(reported.map(({ span_id, name, start, end }) => [span_id, name, start, end])).toEqual(
    spans.map(({ spanId, name, startMs, endMs }) => [spanId, name, isoTime(startMs), isoTime(endMs)]),
  );
});

it('has content for those who may see it and ask for it, and is nobody else’s', async () => {
  await client().start('asking', { cents: 700 }, { id: 'asks', tenant: 'acme' });
  await expect.poll(async () => (await client().run('asks').get()).status).toBe('parked');
  const held = ({ spans }: Awaited<ReturnType<typeof page>>) =>
    spans.flatMap(({ content }) => (content === undefined ? [] : [content]));
  expect(held(await page('asks', { content: 'true' }, 'operator acme'))).toEqual([
    { 'tidemark.effect.request': '{"cents":700}' },
  ]);
  for (const token of ['operator acme', 'viewer acme']) {
    const reported = await page('asks', {}, token);
    expect(reported.spans.map(({ name }) => name)).toContain('effect bank.wire');
    expect(JSON.stringify(reported)).not.toContain('cents');
  }
  await expect(page('asks', { content: 'true' }, 'viewer acme')).rejects.toMatchObject({ code: 'right-missing' });
  await expect(page('asks', {}, 'operator globex')).rejects.toMatchObject({ code: 'workflow-unknown' });
  await expect(page('asks', {}, 'scaler acme')).rejects.toMatchObject({ code: 'right-missing' });
});
