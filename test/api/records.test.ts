/** Records of pipelines over HTTP: written by who may operate, read page by page by who may see content, each tenant's its own. */

import { connect } from '@tidemark/client';
import { type PipelineContext, pipeline } from '@tidemark/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

const gate = Promise.withResolvers<void>();
const content = pipeline('content', {
  only: async (_: unknown, ctx: PipelineContext) => {
    await gate.promise;
    return (await ctx.handoffs()).map(({ message }) => message);
  },
});

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [content] });
});
afterAll(async () => {
  gate.resolve();
  await served.close();
});

const client = (token: string) => connect({ url: served.url, token });
const params = { subject: 'pipeline:content' };
type Written = readonly { readonly key: string; readonly value: unknown; readonly source?: string }[];
const write = (token: string, records: Written, subject = params.subject) =>
  client(token).ask('POST /v1/records/{subject}', { params: { subject }, body: { records } });
const read = (token: string, query: { prefix?: string; limit?: number; cursor?: string; tenant?: string } = {}) =>
  client(token).ask('GET /v1/records/{subject}', { params, query });

it('are read by key, page by page, and replaced by what is written under the same key', async () => {
  const records = ['b', 'a', 'c'].map((key) => ({ key: `done/${key}`, value: { made: key } }));
  expect(await write('operator acme', records)).toEqual({ subject: 'pipeline:content', written: 3 });
  await write('operator acme', [{ key: 'handoff/x', value: 1, source: 'a script' }]);
  const first = await read('operator acme', { prefix: 'done/', limit: 2 });
  expect(first.records.map(({ key, value, source }) => [key, value, source])).toEqual([
    ['done/a', { made: 'a' }, 'operator-of-acme'],
    ['done/b', { made: 'b' }, 'operator-of-acme'],
  ]);
  const rest = await read('operator acme', { prefix: 'done/', limit: 2, cursor: first.next_cursor! });
  expect([rest.records.map(({ key }) => key), rest.next_cursor]).toEqual([['done/c'], null]);
  await write('operator acme', [{ key: 'done/a', value: null }]);
  expect((await read('operator acme', { prefix: 'done/a' })).records).toMatchObject([{ value: null }]);
});

it('are nobody else’s, and written by nobody who may not', async () => {
  await write('operator acme', [{ key: 'done/theirs', value: 'pearl' }]);
  expect(await read('operator globex')).toEqual({ records: [], next_cursor: null });
  expect(JSON.stringify(await read('admin', { tenant: 'acme' }))).toContain('pearl');
  await expect(read('operator globex', { tenant: 'acme' })).rejects.toMatchObject({ code: 'tenant-unknown' });
  await expect(read('viewer acme')).rejects.toMatchObject({ code: 'right-missing' });
  await expect(write('approver acme', [{ key: 'done/a', value: 1 }])).rejects.toMatchObject({ code: 'right-missing' });
});

it.each([
  ['of what has operations of its own', () => write('admin', [{ key: 'budget', value: {} }], 'tenant:default')],
  ['of none', () => write('admin', [])],
  ['without a value', () => write('admin', [{ key: 'done/a', value: undefined }])],
  ['more than fit', () => write('admin', Array(101).fill({ key: 'done/a', value: 1 }))],
])('%s are refused', async (_, ask) => {
  await expect(ask()).rejects.toMatchObject({ status: 400, code: 'request-invalid' });
});

it('and the hand-over that comes with one is a signal that pipelines take', async () => {
  const run = await client('operator acme').start('content', {}, { id: 'handed' });
  const value = { from: 'shell', to: 'only', message: 'Mind row 3.', artifacts: [] };
  expect(await run.signal('handoff', value, { key: 'once' })).toEqual({ workflow: 'handed' });
  await expect(run.signal('handoff', 'row 3')).rejects.toMatchObject({ code: 'signal-unfit' });
  await expect(run.signal('handover', value)).rejects.toMatchObject({ code: 'signal-unknown' });
});
