/** Tokens from an endpoint: one serves until its time is nearly over, and what goes wrong says what the endpoint answered and no secret. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { oauthTokens } from './oauth-token.ts';

const SECRET = 'a%secret:/+';
let server: Server;
let asked: { readonly authorization: string; readonly body: string }[];
let answer: { readonly status: number; readonly body: object };

beforeEach(async () => {
  asked = [];
  answer = { status: 200, body: { access_token: 't1', token_type: 'bearer', expires_in: 3_600 } };
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    asked.push({ authorization: request.headers.authorization ?? '', body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise<void>((resolve) => server.close(() => resolve())));

const source = (scope = '') =>
  oauthTokens({
    tokenUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    clientId: 'tide mark',
    clientSecret: async () => SECRET,
    scope,
  });

it('asks once by client credentials, and gives the same token to all', async () => {
  const token = source('kafka');
  expect(await token()).toBe('t1');
  expect(await token()).toBe('t1');
  expect(asked).toHaveLength(1);
  expect(Object.fromEntries(new URLSearchParams(asked[0]!.body))).toEqual({
    grant_type: 'client_credentials',
    scope: 'kafka',
  });
  const [id, secret] = Buffer.from(asked[0]!.authorization.replace('Basic ', ''), 'base64').toString().split(':');
  const decoded = (text = ''): string => decodeURIComponent(text.replaceAll('+', ' '));
  expect([decoded(id), decoded(secret)]).toEqual(['tide mark', SECRET]);
});

it('asks again once the time of a token is over', async () => {
  answer = { status: 200, body: { access_token: 't1', token_type: 'bearer', expires_in: 0 } };
  const token = source();
  await token();
  answer = { status: 200, body: { access_token: 't2', token_type: 'bearer' } };
  expect(await token()).toBe('t2');
  expect(await token()).toBe('t2');
  expect(asked).toHaveLength(2);
});

it('says what was refused, without the secret, and asks again at the next connection', async () => {
  answer = { status: 401, body: { error: 'invalid_client', error_description: 'no such client' } };
  const token = source();
  const error = await token().then(
    () => undefined,
    (failure: Error) => failure,
  );
  expect(error).toMatchObject({ name: 'UnavailableError', code: 'log-token-unavailable' });
  expect(error!.message).toContain('/token gave no token for Kafka');
  expect(error!.message).not.toContain(SECRET);
  answer = { status: 200, body: { access_token: 't3', token_type: 'bearer' } };
  expect(await token()).toBe('t3');
});
