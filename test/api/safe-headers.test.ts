/** Headers for browsers: on every answer of the API, whatever it is, and the console's own on its pages. */

import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, serveApi } from './served.ts';

let served: Served;
beforeAll(async () => {
  served = await serveApi();
});
afterAll(() => served.close());

const WANTED = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const asked = (path: string, headers: Readonly<Record<string, string>>) =>
  new Promise<{ status: number; received: Record<string, unknown> }>((resolve, reject) => {
    const sent = request(`${served.url}${path}`, { headers, agent: false }, (answer) => {
      resolve({ status: answer.statusCode ?? 0, received: answer.headers });
      answer.destroy();
    });
    sent.on('error', reject);
    sent.end();
  });

it.for([
  ['an answer', '/v1/workflows', {}, 200],
  ['the document', '/openapi.json', {}, 200],
  ['the look whether it lives', '/healthz', {}, 200],
  ['what is not there', '/v1/nothing', {}, 404],
  ['a page of another origin', '/v1/workflows', { origin: 'https://elsewhere.example' }, 403],
  ['credentials in the address', '/v1/workflows?token=x', {}, 400],
  ['an address that can not be read', '/v1/workflows/%zz', {}, 400],
  ['events', '/v1/events', {}, 200],
] as const)('%s has them', async ([, path, headers, wanted]) => {
  const { status, received } = await asked(path, headers);
  expect(status).toBe(wanted);
  expect(received).toMatchObject(WANTED);
  // No page elsewhere may read it.
  expect(received['access-control-allow-origin']).toBeUndefined();
});

it.for([
  ['an answer', '/v1/workflows', 200],
  ['a refusal', '/v1/workflows/nobody', 404],
  ['events', '/v1/events', 200],
] as const)('%s is kept by no cache', async ([, path, wanted]) => {
  const { status, received } = await asked(path, {});
  expect([status, received['cache-control']]).toEqual([wanted, 'no-store']);
});
