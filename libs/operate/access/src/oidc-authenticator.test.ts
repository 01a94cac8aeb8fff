/** Tokens of a real issuer on this machine, and what looks like them: who is let in, who isn't, and what an issuer that is away does. */

import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TenantId } from '@tidemark/core';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { AUDIENCE, TokenIssuer } from '@tidemark/testkit/token-issuer';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RecordsInMemory } from './access-fixture.ts';
import { ActiveTenants } from './active-tenants.ts';
import { assigneeNames, isAssignee } from './assignees.ts';
import { ISSUER_KEYS_FRESH_MS, ISSUER_KEYS_STALE_MAX_MS, ISSUER_REFETCH_MS } from './issuer-keys.ts';
import {
  CLOCK_TOLERANCE_S,
  ISSUER_KEYS_TRIED_MAX_COUNT,
  OidcAuthenticator,
  type OidcAuthenticatorOptions,
} from './oidc-authenticator.ts';

const INVALID = { name: 'AccessError', code: 'credentials-invalid' };

let issuer: TokenIssuer;
beforeAll(async () => {
  issuer = await TokenIssuer.start();
});
afterAll(() => issuer.stop());

let clock: SimulatedClock;
let records: RecordsInMemory;
let tokens: OidcAuthenticator;
beforeEach(async () => {
  await issuer.startAgain();
  clock = new SimulatedClock({ beganAtMs: Date.now() });
  records = new RecordsInMemory();
  tokens = authenticator();
});

const authenticator = (more: Partial<OidcAuthenticatorOptions> = {}) =>
  new OidcAuthenticator({
    issuer: issuer.issuer,
    audience: AUDIENCE,
    tenantClaim: 'tenant',
    rolesClaim: 'roles',
    clock,
    tenants: new ActiveTenants({ records, clock }),
    ...more,
  });
const show = (token: string, by = tokens) => by.authenticate({ authorization: `Bearer ${token}` });
const nowS = () => Math.floor(clock.nowMs() / 1_000);
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token of the issuer', () => {
  it('tells who it is, whose, and what they may do', async () => {
    expect(await show(await issuer.token('ci'))).toEqual({
      subject: 'token:ci',
      tenant: 'acme',
      roles: ['operator'],
      kind: 'token',
      names: ['user:ci', 'group:operator', 'group:astronaut'],
    });
  });

  it('is asked for by the names that its claims give, and by no others', async () => {
    const exp = nowS() + 60;
    const claims = { exp, email: 'ana@acme.example', roles: ['leads', 7, '', 'team:x'], org: { teams: 'risk  ops' } };
    const by = authenticator({ userClaim: 'email', teamsClaim: 'org.teams', roles: new Map([['leads', 'approver']]) });
    const ana = await show(await issuer.signed(claims), by);
    const names = ['user:ana@acme.example', 'group:leads', 'group:team:x', 'team:risk', 'team:ops'];
    expect(assigneeNames(ana)).toEqual([ana.subject, ...names, 'role:approver']);
    for (const name of names) expect(isAssignee(ana, name)).toBe(true);
    for (const name of ['team:x', 'group:', 'role:admin', 'user:ANA@acme.example', 'leads']) {
      expect(isAssignee(ana, name)).toBe(false);
    }
    expect(isAssignee(ana, null)).toBe(true);
    expect(isAssignee({ ...ana, roles: ['admin'] }, 'user:bob')).toBe(true);
    // A claim that isn't there, or is no text, names nobody.
    const none = await show(await issuer.signed({ exp, email: ['a'], roles: {} }), by);
    expect(assigneeNames(none)).toEqual([none.subject]);
  });

  it('of another tenant is another tenant’s, and of none is refused', async () => {
    expect(await show(await issuer.token('other'))).toMatchObject({ tenant: 'globex', roles: ['viewer'] });
    await expect(show(await issuer.token('nobody'))).rejects.toMatchObject(INVALID);
    // Nobody is everybody's unless the configuration says what says so.
    expect(await show(await issuer.token('platform'))).toMatchObject({ tenant: '*' });
    const all = authenticator({ allTenants: '*' });
    expect(await show(await issuer.token('platform'), all)).toMatchObject({ tenant: null, roles: ['admin'] });
  });

  it('gives the roles that the mapping says, by names and by paths', async () => {
    const roles = new Map([['astronaut', 'approver' as const]]);
    expect(await show(await issuer.token('ci'), authenticator({ roles }))).toMatchObject({ roles: ['approver'] });
    const exp = nowS() + 60;
    const nested = await issuer.signed({ exp, realm: { access: 'viewer worker' }, 'https://x.example/t': 'acme' });
    const paths = authenticator({ rolesClaim: 'realm.access', tenantClaim: 'https://x.example/t' });
    expect(await show(nested, paths)).toMatchObject({ tenant: 'acme', roles: ['viewer', 'worker'] });
    const fixed = authenticator({ tenant: 'initech' as TenantId, rolesClaim: '__proto__.roles' });
    expect(await show(nested, fixed)).toMatchObject({ tenant: 'initech', roles: [] });
  });

  it('expires, with the tolerance that is named and no more', async () => {
    const token = await issuer.signed({ exp: nowS() + 10 });
    await show(token);
    clock.jump((10 + CLOCK_TOLERANCE_S - 1) * 1_000);
    await show(token);
    clock.jump(1_000);
    await expect(show(token)).rejects.toMatchObject({ code: 'credentials-expired' });
  });

  it('that is not yet valid is refused, within the same tolerance', async () => {
    const exp = nowS() + 1_000;
    await expect(show(await issuer.signed({ exp, nbf: nowS() + CLOCK_TOLERANCE_S + 5 }))).rejects.toMatchObject(
      INVALID,
    );
    await show(await issuer.signed({ exp, nbf: nowS() + CLOCK_TOLERANCE_S - 5 }));
  });

  it('without an end or a subject is refused', async () => {
    await expect(show(await issuer.signed({}))).rejects.toMatchObject(INVALID);
    await expect(show(await issuer.signed({ exp: nowS() + 60, sub: undefined as never }))).rejects.toMatchObject(
      INVALID,
    );
  });

  it('for another audience is refused, also where several are named', async () => {
    await expect(show(await issuer.token('ci', 'https://elsewhere.example'))).rejects.toMatchObject(INVALID);
    const exp = nowS() + 60;
    await expect(show(await issuer.signed({ exp, aud: [] }))).rejects.toMatchObject(INVALID);
    await show(await issuer.signed({ exp, aud: ['https://elsewhere.example', AUDIENCE] }));
  });

  it('that names another issuer is refused', async () => {
    const exp = nowS() + 60;
    for (const iss of [`${issuer.issuer}/`, 'https://evil.example']) {
      await expect(show(await issuer.signed({ exp, iss }))).rejects.toMatchObject(INVALID);
    }
  });

  it.each(['logout+jwt', 'secevent+jwt', 'dpop+jwt'])('of the type %s is none', async (typ) => {
    await expect(show(await issuer.signed({ exp: nowS() + 60 }, { typ }))).rejects.toMatchObject(INVALID);
  });

  it('of a suspended tenant is refused', async () => {
    const suspended = { by: 'ana', why: 'unpaid', atMs: 0 };
    records.tenants.set('acme', { tenant: 'acme' as TenantId, createdMs: 0, by: 'ana', suspended });
    await expect(show(await issuer.token('ci'))).rejects.toMatchObject(INVALID);
    expect(await show(await issuer.token('other'))).toMatchObject({ tenant: 'globex' });
  });
});

describe('a forged token', () => {
  const claims = () => ({
    iss: issuer.issuer,
    aud: AUDIENCE,
    sub: 'eve',
    tenant: 'acme',
    exp: nowS() + 60,
    roles: ['admin'],
  });

  it('with a key of one’s own is refused, whatever key it names', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    for (const kid of ['key-1', 'other', undefined]) {
      const token = new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', ...(kid !== undefined && { kid }) });
      await expect(show(await token.sign(privateKey))).rejects.toMatchObject(INVALID);
    }
  });

  it('that brings its own key is refused', async () => {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const header = {
      alg: 'RS256',
      kid: 'key-1',
      jwk: issuer.publicKey,
      jku: 'http://127.0.0.1:1/keys',
      x5u: 'http://x',
    };
    const token = await new SignJWT(claims()).setProtectedHeader(header as never).sign(privateKey);
    await expect(show(token)).rejects.toMatchObject(INVALID);
  });

  it.each(['none', 'None', 'NONE', 'nOnE', ''])('with the algorithm %j is refused', async (alg) => {
    for (const signature of ['', 'AAAA']) {
      await expect(show(`${part({ alg, typ: 'JWT' })}.${part(claims())}.${signature}`)).rejects.toMatchObject(INVALID);
    }
  });

  it('whose secret is the public key is refused', async () => {
    const front = `${part({ alg: 'HS256', kid: 'key-1' })}.${part(claims())}`;
    const signature = createHmac('sha256', JSON.stringify(issuer.publicKey)).update(front).digest('base64url');
    await expect(show(`${front}.${signature}`)).rejects.toMatchObject(INVALID);
  });

  it('whose parts were changed is refused', async () => {
    const good = await issuer.signed({ exp: nowS() + 60, roles: ['viewer'] });
    const [header, , signature] = good.split('.');
    await expect(show(`${header}.${part(claims())}.${signature}`)).rejects.toMatchObject(INVALID);
    await expect(show(good.slice(0, -10))).rejects.toMatchObject(INVALID);
    await expect(show(good.slice(0, good.lastIndexOf('.')))).rejects.toMatchObject(INVALID);
    await expect(show(`${good}.${signature}`)).rejects.toMatchObject(INVALID);
    await show(good);
  });

  it.each([
    '',
    '.',
    '..',
    '...',
    'eyJ.eyJ.eyJ',
    `${'A'.repeat(16_000)}`,
    'null.null.null',
    'e30.e30.e30',
    'W10.W10.W10',
  ])('such as %j is refused', async (text) => {
    await expect(show(text)).rejects.toMatchObject(INVALID);
  });

  it('that has expired as well is told to be wrong, not old', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    const old = new SignJWT({ ...claims(), exp: 1 }).setProtectedHeader({ alg: 'RS256', kid: 'key-1' });
    await expect(show(await old.sign(privateKey))).rejects.toMatchObject(INVALID);
  });
});

describe('the issuer', () => {
  it('is asked once for many tokens, and again when its keys are old', async () => {
    const token = await issuer.signed({ exp: nowS() + 86_400 });
    const before = issuer.keysAskedCount;
    await Promise.all(Array.from({ length: 20 }, () => show(token)));
    expect(issuer.keysAskedCount - before).toBe(1);
    clock.jump(ISSUER_KEYS_FRESH_MS);
    await show(token);
    expect(issuer.keysAskedCount - before).toBe(2);
  });

  it('may change its keys: new tokens are taken soon, old ones no more', async () => {
    const old = await issuer.signed({ exp: nowS() + 86_400 });
    await show(old);
    await issuer.rotate();
    clock.jump(ISSUER_REFETCH_MS);
    await show(await issuer.signed({ exp: nowS() + 86_400 }));
    await expect(show(old)).rejects.toMatchObject(INVALID);
  });

  it('with several keys may leave out which one it signed with', async () => {
    const exp = nowS() + 60;
    const unnamed = { namesKey: false };
    await issuer.rotate();
    const first = await issuer.signed({ exp }, unnamed);
    await issuer.addKey();
    const second = await issuer.signed({ exp }, unnamed);
    for (const token of [first, second]) expect(await show(token)).toMatchObject({ subject: 'token:ci' });
    // What else is asked of a token is asked of it too, and no key of another's does.
    await expect(show(await issuer.signed({ exp: nowS() - 60 }, unnamed))).rejects.toMatchObject({
      code: 'credentials-expired',
    });
    await expect(show(await issuer.signed({ exp, aud: 'https://elsewhere.example' }, unnamed))).rejects.toMatchObject(
      INVALID,
    );
    const { privateKey } = await generateKeyPair('RS256');
    const forged = new SignJWT({ iss: issuer.issuer, aud: AUDIENCE, sub: 'eve', tenant: 'acme', exp });
    const token = await forged.setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    await expect(show(token)).rejects.toMatchObject(INVALID);
  });

  it('with more keys than are tried has its tokens name theirs', async () => {
    await issuer.rotate();
    for (let count = 0; count < ISSUER_KEYS_TRIED_MAX_COUNT; count++) await issuer.addKey();
    const exp = nowS() + 60;
    await show(await issuer.signed({ exp }));
    await expect(show(await issuer.signed({ exp }, { namesKey: false }))).rejects.toMatchObject(INVALID);
  });

  it('is not asked by everybody who names a key that isn’t there', async () => {
    await show(await issuer.token('ci'));
    const before = issuer.keysAskedCount;
    const { privateKey } = await generateKeyPair('ES256');
    for (let count = 0; count < 50; count++) {
      const token = new SignJWT({ exp: nowS() + 60 }).setProtectedHeader({ alg: 'ES256', kid: `k${count}` });
      await expect(show(await token.sign(privateKey))).rejects.toMatchObject(INVALID);
      if (count % 10 === 0) clock.jump(ISSUER_REFETCH_MS / 5);
    }
    expect(issuer.keysAskedCount - before).toBeLessThanOrEqual(1);
  });

  it('that is away is not the caller’s fault; what is known of it is used for a bounded time', async () => {
    const token = await issuer.signed({ exp: nowS() + 86_400 });
    const cold = authenticator();
    await show(token);
    await issuer.stop();
    await expect(show(token, cold)).rejects.toMatchObject({ name: 'UnavailableError', code: 'issuer-unavailable' });
    await show(token);
    clock.jump(ISSUER_KEYS_FRESH_MS);
    await show(token);
    clock.jump(ISSUER_KEYS_STALE_MAX_MS);
    await expect(show(token)).rejects.toMatchObject({ code: 'issuer-unavailable' });
    await issuer.startAgain();
    await show(token);
    await show(token, cold);
  });

  it.each([
    ['another issuer', 200, { issuer: 'https://evil.example', jwks_uri: 'https://evil.example/keys' }],
    ['keys over a plain connection', 200, { jwks_uri: 'http://keys.example/keys' }],
    ['no keys', 200, {}],
    ['no JSON', 200, '<html>'],
    ['an error', 500, {}],
    ['somewhere else', 302, {}],
    ['without end', 200, 'x'.repeat(3_000_000)],
  ])('whose document says %s is not believed', async (_what, status, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { location: `${issuer.issuer}/.well-known/openid-configuration` });
      response.end(typeof body === 'string' ? body : JSON.stringify({ issuer: address, ...body }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const token = await issuer.signed({ exp: nowS() + 60, iss: address });
      await expect(show(token, authenticator({ issuer: address }))).rejects.toMatchObject({
        code: 'issuer-unavailable',
      });
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it.each(['http://issuer.example', 'ftp://x', 'nonsense', 'https://user:pass@issuer.example'])(
    'at %s is refused by the configuration',
    (address) => {
      expect(() => authenticator({ issuer: address })).toThrowError(
        expect.objectContaining({ code: 'issuer-invalid' }),
      );
    },
  );
});
