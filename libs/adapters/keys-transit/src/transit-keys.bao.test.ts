/** Runs the contract of KeyProvider on OpenBao's transit engine, and what only this adapter promises: tokens, rights, a sealed server. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tenantId, workflowId } from '@tidemark/core';
import type { KeyProvider } from '@tidemark/ports';
import { found, keyProviderContract, spellings } from '@tidemark/testkit/contracts/key-provider';
import { describeServers, ownServer } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTransitKeys } from './index.ts';

const context = { tenant: tenantId('t'), workflow: workflowId('w') };
const dataKey = new Uint8Array(32).map((_, index) => index * 7 + 3);

/** A server with its root token: mounts, keys, tokens. */
class Bao {
  readonly origin: string;
  readonly token: string;

  constructor(address: string) {
    const { origin, password } = new URL(address);
    this.origin = origin;
    this.token = password;
  }

  async call(way: string, body?: unknown, method = 'POST'): Promise<Record<string, never>> {
    const headers = { 'x-vault-token': this.token };
    const answer = await fetch(`${this.origin}/v1/${way}`, { method, headers, body: JSON.stringify(body ?? {}) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${way}: ${answer.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }

  async freshMount(): Promise<string> {
    const mount = `transit-${randomBytes(4).toString('hex')}`;
    await this.call(`sys/mounts/${mount}`, { type: 'transit' });
    return mount;
  }

  async newToken(policy: string): Promise<string> {
    const name = `policy-${randomBytes(4).toString('hex')}`;
    await this.call(`sys/policies/acl/${name}`, { policy });
    const made = (await this.call('auth/token/create', { policies: [name], no_default_policy: true })) as unknown as {
      auth: { client_token: string };
    };
    return made.auth.client_token;
  }
}

async function refusal(call: Promise<unknown>, secrets: readonly string[]): Promise<Error> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  expect(error).toBeInstanceOf(Error);
  expect(found(error!, [...secrets, ...spellings(dataKey)])).toEqual([]);
  return error!;
}

describeServers('keys in a transit engine', ['bao'], ({ bao: address }) => {
  const bao = new Bao(address);
  const { origin, token } = bao;
  let mount: string;
  beforeEach(async () => {
    mount = await bao.freshMount();
    await bao.call(`${mount}/keys/wrapping`);
  });
  const open = (more: { readonly token?: string; readonly key?: string } = {}): Promise<KeyProvider> =>
    openTransitKeys({ address: origin, token, mount, key: 'wrapping', ...more });

  keyProviderContract('transit', async () => {
    const keys = await open();
    return {
      keys,
      again: () => open(),
      async rotate() {
        await bao.call(`${mount}/keys/wrapping/rotate`);
        return open();
      },
      async foreign(key, about) {
        await bao.call(`${mount}/keys/other`);
        const other = await open({ key: 'other' });
        return { ...(await other.wrap(key, about)), wrappedBy: await keys.current() };
      },
      damaged(key) {
        const [prefix, version, text] = key.wrapped.split(':');
        const bytes = Buffer.from(text!, 'base64');
        bytes[20]! ^= 1;
        return { ...key, wrapped: [prefix, version, bytes.toString('base64')].join(':') };
      },
      async away() {
        const way = await wayTo(origin);
        const opened = await openTransitKeys({ address: way.origin, token, mount, key: 'wrapping', attemptsMax: 1 });
        await way.end();
        return opened;
      },
      secrets: () => [token],
      close: () => keys.close(),
    };
  });

  test('the current key is named with mount and version', async () => {
    const keys = await open();
    expect(await keys.current()).toBe(`${mount}/wrapping:v1`);
    await bao.call(`${mount}/keys/wrapping/rotate`);
    expect(await keys.current()).toBe(`${mount}/wrapping:v2`);
    expect(await keys.wrap(dataKey, context)).toMatchObject({
      wrappedBy: `${mount}/wrapping:v2`,
      wrapped: expect.stringMatching(/^vault:v2:/),
    });
  });

  test('what another key of the engine wrapped is unwrapped by that one', async () => {
    await bao.call(`${mount}/keys/next`);
    const wrapped = await (await open()).wrap(dataKey, context);
    const next = await open({ key: 'next' });
    expect(Buffer.compare(await next.unwrap(wrapped, context), dataKey)).toBe(0);
    expect(await next.current()).not.toBe(wrapped.wrappedBy);
  });

  test('a version that is no longer allowed is refused, not called damaged', async () => {
    const keys = await open();
    const wrapped = await keys.wrap(dataKey, context);
    await bao.call(`${mount}/keys/wrapping/rotate`);
    await bao.call(`${mount}/keys/wrapping/config`, { min_decryption_version: 2 });
    expect(await refusal(keys.unwrap(wrapped, context), [token])).toMatchObject({
      name: 'ConfigError',
      code: 'key-refused',
      message: expect.stringContaining('min_decryption_version'),
    });
  });

  test('a key that is gone is refused', async () => {
    const keys = await open();
    const wrapped = await keys.wrap(dataKey, context);
    await bao.call(`${mount}/keys/wrapping/config`, { deletion_allowed: true });
    await bao.call(`${mount}/keys/wrapping`, undefined, 'DELETE');
    for (const call of [() => keys.unwrap(wrapped, context), () => keys.current()]) {
      expect(await refusal(call(), [token])).toMatchObject({ name: 'ConfigError', code: 'key-refused' });
    }
  });

  test('a name that stores a path of the server is not followed', async () => {
    const keys = await open();
    const wrapped = await keys.wrap(dataKey, context);
    for (const wrappedBy of [`${mount}/../sys/wrapping:v1`, `../sys/seal:v1`, `${mount}/a/b?c:v1`, 'wrapping:v1', '']) {
      expect(await refusal(keys.unwrap({ ...wrapped, wrappedBy }, context), [token])).toMatchObject({
        code: 'key-wrong',
      });
    }
  });

  test('what is wrong with key, mount, type or rights is said when it is opened', async () => {
    await bao.call(`${mount}/keys/signing`, { type: 'ecdsa-p256' });
    await bao.call(`${mount}/keys/derived`, { derived: true });
    const mayNothing = await bao.newToken(`path "${mount}/encrypt/wrapping" { capabilities = ["update"] }`);
    for (const [given, said] of [
      [{ key: 'no-such-key' }, /no such key/],
      [{ mount: 'no-such-mount' }, /no such mount/],
      [{ key: 'signing' }, /is of type ecdsa-p256/],
      [{ key: 'derived' }, /derives keys/],
      [{ token: mayNothing }, /the token may not use it/],
      [{ token: 'hunter2-hunter2' }, /the token may not use it/],
    ] as const) {
      const opening = openTransitKeys({ address: origin, token, mount, key: 'wrapping', ...given });
      expect(await refusal(opening, [token, mayNothing, 'hunter2'])).toMatchObject({
        name: 'ConfigError',
        code: 'key-refused',
        message: expect.stringMatching(said),
      });
    }
  });

  test('a token with the rights that are documented is enough', async () => {
    const policy = ['encrypt', 'decrypt']
      .map((what) => `path "${mount}/${what}/wrapping" { capabilities = ["update"] }`)
      .concat(`path "${mount}/keys/wrapping" { capabilities = ["read"] }`);
    const keys = await open({ token: await bao.newToken(policy.join('\n')) });
    const wrapped = await keys.wrap(dataKey, context);
    expect(Buffer.compare(await keys.unwrap(wrapped, context), dataKey)).toBe(0);
  });

  test('a token in a file is read again when it is refused', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-token-'));
    try {
      const tokenFile = path.join(folder, 'token');
      const policy = `path "${mount}/*" { capabilities = ["update", "read"] }`;
      const first = await bao.newToken(policy);
      await writeFile(tokenFile, `${first}\n`);
      const keys = await openTransitKeys({ address: origin, tokenFile, mount, key: 'wrapping' });
      const wrapped = await keys.wrap(dataKey, context);
      const second = await bao.newToken(policy);
      await bao.call('auth/token/revoke', { token: first });
      // The control: as long as the file holds the old one, it is refused.
      expect(await refusal(keys.unwrap(wrapped, context), [first])).toMatchObject({ code: 'key-refused' });
      await writeFile(tokenFile, second);
      const all = await Promise.all(Array.from({ length: 100 }, () => keys.unwrap(wrapped, context)));
      for (const unwrapped of all) expect(Buffer.compare(unwrapped, dataKey)).toBe(0);
      await writeFile(tokenFile, '');
      await bao.call('auth/token/revoke', { token: second });
      expect(await refusal(keys.unwrap(wrapped, context), [second])).toMatchObject({ code: 'key-token-invalid' });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('a sealed server is away, and says that it is sealed', async (test) => {
    const own = new Bao((await ownServer(test, 'bao')).address);
    const at = await own.freshMount();
    await own.call(`${at}/keys/wrapping`);
    const options = { address: own.origin, token: own.token, mount: at, key: 'wrapping', attemptsMax: 1 };
    const keys = await openTransitKeys(options);
    const wrapped = await keys.wrap(dataKey, context);
    await own.call('sys/seal', undefined, 'PUT');
    for (const call of [
      () => keys.wrap(dataKey, context),
      () => keys.unwrap(wrapped, context),
      () => openTransitKeys(options),
    ]) {
      expect(await refusal(call(), [own.token])).toMatchObject({
        name: 'UnavailableError',
        code: 'keys-unavailable',
        message: expect.stringContaining('sealed'),
      });
    }
  });
});

/** A relay to the server that can be ended. */
async function wayTo(target: string): Promise<{ readonly origin: string; end(): Promise<void> }> {
  const way = createServer(async (request, response) => {
    const token = String(request.headers['x-vault-token']);
    const answer = await fetch(`${target}${request.url}`, { headers: { 'x-vault-token': token } });
    response.writeHead(answer.status).end(await answer.text());
  });
  const origin = await listening(way);
  return {
    origin,
    async end() {
      way.closeAllConnections();
      await new Promise((resolve) => way.close(resolve));
    },
  };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('answers that no sound server gives', () => {
  const token = 's.hunter2';
  const wrapped = { provider: 'transit', wrappedBy: 'transit/k:v1', wrapped: 'vault:v1:AAAA' };
  let answer: (response: ServerResponse) => void;
  let asked = 0;
  let fake: Server;
  let address: string;
  beforeAll(async () => {
    fake = createServer((request, response) => {
      request.resume();
      asked += 1;
      if (request.url === '/v1/transit/keys/k') {
        say(response, 200, { data: { type: 'aes256-gcm96', latest_version: 1, derived: false } });
      } else answer(response);
    });
    address = await listening(fake);
  });
  afterAll(async () => {
    const closed = new Promise((resolve) => fake.close(resolve));
    fake.closeAllConnections();
    await closed;
  });

  const say = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const open = (more: { readonly attemptsMax?: number; readonly requestTimeoutMs?: number } = {}) =>
    openTransitKeys({ address, token, key: 'k', attemptsMax: 1, ...more });

  test.each([
    [429, 'UnavailableError', 'keys-unavailable', /throttles/],
    [500, 'UnavailableError', 'keys-unavailable', /500/],
    [502, 'UnavailableError', 'keys-unavailable', /502/],
    [503, 'UnavailableError', 'keys-unavailable', /503/],
    [473, 'UnavailableError', 'keys-unavailable', /473/],
    [403, 'ConfigError', 'key-refused', /token/],
    [404, 'ConfigError', 'key-refused', /no such key/],
    [307, 'ConfigError', 'key-refused', /sends elsewhere/],
  ])('%i is %s %s', async (status, name, code, said) => {
    answer = (response) => say(response, status, { errors: [] }, { location: `${address}/v1/elsewhere` });
    const keys = await open();
    asked = 0;
    for (const call of [() => keys.wrap(dataKey, context), () => keys.unwrap(wrapped, context)]) {
      expect(await refusal(call(), [token])).toMatchObject({ name, code, message: expect.stringMatching(said) });
    }
    expect(asked).toBe(2);
  });

  test.each([
    ['no JSON', `{"data":{"plaintext":"${Buffer.from(dataKey).toString('base64')}`],
    ['another shape', { data: { plaintext: [Buffer.from(dataKey).toString('base64')] } }],
    ['no answer', ''],
  ])('%s is told without being quoted', async (_, body) => {
    answer = (response) => say(response, 200, body);
    const keys = await open();
    expect(await refusal(keys.unwrap(wrapped, context), [token])).toMatchObject({ code: 'keys-unavailable' });
  });

  test('what is throttled is asked again; without tries left it is told', async () => {
    const keys = await open({ attemptsMax: 3 });
    asked = 0;
    answer = (response) =>
      asked < 3 ? say(response, 429, { errors: [] }) : say(response, 200, { data: { ciphertext: wrapped.wrapped } });
    expect(await keys.wrap(dataKey, context)).toEqual(wrapped);
    answer = (response) => say(response, 429, { errors: [] });
    expect(await refusal(keys.wrap(dataKey, context), [token])).toMatchObject({
      code: 'keys-unavailable',
      details: { isThrottled: true, status: 429 },
    });
    expect(asked).toBe(6);
  });

  test('a server that hangs is not waited for', async () => {
    answer = () => {};
    const keys = await open({ requestTimeoutMs: 200 });
    expect(await refusal(keys.wrap(dataKey, context), [token])).toMatchObject({
      code: 'keys-unavailable',
      message: expect.stringContaining('in time'),
    });
  });

  test.each([
    ['', 'key-address-invalid'],
    ['localhost:8200', 'key-address-invalid'],
    ['https://user:hunter2@host:8200', 'key-address-invalid'],
    ['https://host:8200/ui', 'key-address-invalid'],
  ])('the address %j is refused', async (given, code) => {
    const error = await refusal(openTransitKeys({ address: given, token, key: 'k' }), ['hunter2']);
    expect(error).toMatchObject({ name: 'ConfigError', code });
  });

  test.each(['', 'two words', 'with\nanother: header', 'ümlaut'])('the token %j is refused', async (given) => {
    const error = await refusal(openTransitKeys({ address, token: given, key: 'k' }), given === '' ? [] : [given]);
    expect(error).toMatchObject({ name: 'ConfigError', code: 'key-token-invalid' });
  });

  test.each(['', '..', 'a/b', '../sys/seal', 'k?x=1', '-k'])('the key name %j is refused', async (key) => {
    await expect(openTransitKeys({ address, token, key })).rejects.toMatchObject({ code: 'key-name-invalid' });
  });
});
