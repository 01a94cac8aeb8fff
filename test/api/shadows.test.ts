/** Agents that run elsewhere, over HTTP: how their runs compare, who is told differences, and who sets the share. */

import { connect } from '@tidemark/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator });
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });
const params = { definition: 'outside' };
const askShadows = (token: string, query: { differences?: 'true' } = {}) =>
  client(token).ask('GET /v1/shadows/{definition}', { params, query });
const promote = (token: string, to: 0 | 1 | 10 | 50 | 100) =>
  client(token).ask('POST /v1/shadows/{definition}/promotions', { params, body: { to, observe_ms: 0, runs: 1 } });

it('is begun, compared, and refused the next share while a run differs', async () => {
  expect(await askShadows('viewer')).toMatchObject({
    definition: 'outside',
    share: 0,
    since: null,
    by: null,
    agreed: 0,
  });
  expect(await promote('operator', 50)).toMatchObject({ promoted: true, from: 0, to: 50, by: 'operator-of-undefined' });
  const agent = { name: 'outside', version: 1 };
  const { shadows } = served.host.client;
  const runs = Array.from({ length: 20 }, (_, n) =>
    shadows.shadow(agent, { id: `outside-${n}`, belief: { count: 0 }, next: [{ step: 'count' }] }),
  );
  for (const run of runs) {
    run.step({ key: 'one', step: 'count', input: null, change: { count: 1 }, belief: { count: 700 }, pending: [] });
    run.done({});
    expect(await run.flushed(30_000)).toBe(true);
  }
  const seen = await askShadows('operator', { differences: 'true' });
  expect(seen.differing).toBeGreaterThan(0);
  expect(seen.differences).toContainEqual(expect.objectContaining({ sequence: 1, path: 'belief.count' }));
  expect(await askShadows('operator')).not.toHaveProperty('differences');
  const refused = await promote('operator', 100);
  expect([refused.promoted, refused.refusals.map(({ code }) => code)]).toEqual([
    false,
    expect.arrayContaining(['differences']),
  ]);
  expect(refused.shadow.differences).toEqual(seen.differences);
  expect(await askShadows('viewer')).toMatchObject({ share: 50, differing: seen.differing });
});

it('is run by Tidemark for a share of the ids, once that was observed, and by the agent again at once', async () => {
  const { shadows } = served.host.client;
  const of = { definition: 'outside-2' };
  const ask = (body: { mode?: 'active' | 'observe'; to?: 10 | 50 | 100 }) =>
    client('operator').ask('POST /v1/shadows/{definition}/promotions', {
      params: of,
      body: { ...body, observe_ms: 0, runs: 1 },
    });
  const observe = async (prefix: string) => {
    const runs = ids.map((id) => shadows.shadow({ name: of.definition, version: 1 }, { id: `${prefix}-${id}` }));
    for (const run of runs) run.done(null);
    for (const run of runs) expect(await run.flushed(30_000)).toBe(true);
  };
  const ids = Array.from({ length: 40 }, (_, n) => `new-${n}`);
  const routes = async (prefix: string) => {
    const asked = ids.map((id) =>
      client('operator').ask('POST /v1/shadows/{definition}/routes/{id}', { params: { ...of, id: `${prefix}-${id}` } }),
    );
    return Map.groupBy(await Promise.all(asked), ({ route }) => route);
  };
  await ask({ to: 50 });
  expect((await ask({ mode: 'active', to: 10 })).refusals).toMatchObject([{ code: 'too-few' }]);
  await observe('one');
  const begun = await routes('first');
  expect([...begun.keys()].sort()).toEqual(['agent', 'observed']);
  expect((await ask({ mode: 'active', to: 50 })).refusals).toMatchObject([{ code: 'not-next' }]);
  expect(await ask({ mode: 'active', to: 10 })).toMatchObject({ promoted: true, from: 0, to: 10 });
  await observe('two');
  expect(await ask({ mode: 'active', to: 50 })).toMatchObject({ promoted: true, from: 10, to: 50 });
  // What the agent was told to run stays with it.
  expect(await routes('first')).toEqual(begun);
  expect([...(await routes('second')).keys()].sort()).toEqual(['agent', 'tidemark']);
  expect(await ask({ mode: 'observe' })).toMatchObject({ promoted: true, from: 50, to: 50, shadow: { active: 50 } });
  // What was told to go to Tidemark stays with it too.
  expect([...(await routes('second')).keys()].sort()).toEqual(['agent', 'tidemark']);
  expect([...(await routes('third')).keys()].sort()).toEqual(['agent', 'observed']);
  await expect(ask({ mode: 'active' })).rejects.toMatchObject({ status: 400, code: 'shadow-share-invalid' });
});

it.each([
  ['the runs of all tenants', () => askShadows('operator acme')],
  ['differences without the right to content', () => askShadows('viewer', { differences: 'true' })],
  ['the share without the right to operate', () => promote('viewer', 1)],
  ['the share for one tenant', () => promote('operator acme', 1)],
  [
    'who runs an id, for one tenant',
    () => client('operator acme').ask('POST /v1/shadows/{definition}/routes/{id}', { params: { ...params, id: 'x' } }),
  ],
])('nobody is given %s', async (_, ask) => {
  await expect(ask()).rejects.toMatchObject({ status: 403, code: 'right-missing' });
});
