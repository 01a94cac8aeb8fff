/** The settings of who is let in: what they become, and what is refused before anything listens. */

import { describe, expect, it } from 'vitest';
import { apiConfigFromEnv } from './access-config.ts';

type Env = Readonly<Record<string, string>>;

const OIDC: Env = {
  TIDEMARK_AUTH_OIDC_ISSUER: 'https://issuer.example',
  TIDEMARK_AUTH_OIDC_AUDIENCE: 'https://tidemark.example/api',
};

describe('the settings of access', () => {
  it('let in who has a key, and serve this machine alone', () => {
    expect(apiConfigFromEnv({})).toEqual({
      host: '127.0.0.1',
      port: null,
      hosts: [],
      trustedProxies: [],
      access: { keys: true, oidc: null },
    });
  });

  it('say how claims become tenant and roles', () => {
    const { access } = apiConfigFromEnv({
      ...OIDC,
      TIDEMARK_AUTH_KEYS: 'off',
      TIDEMARK_AUTH_OIDC_ROLES: 'engineers=operator, on=call=approver',
      TIDEMARK_AUTH_OIDC_TENANT_CLAIM: 'org.name',
      TIDEMARK_AUTH_OIDC_ALL_TENANTS: '*',
    });
    expect(access).toEqual({
      keys: false,
      oidc: {
        issuer: 'https://issuer.example',
        audience: 'https://tidemark.example/api',
        tenantClaim: 'org.name',
        rolesClaim: 'roles',
        userClaim: 'sub',
        allTenants: '*',
        roles: new Map([
          ['engineers', 'operator'],
          ['on=call', 'approver'],
        ]),
      },
    });
  });

  it('name proxies by addresses and ranges', () => {
    const named = '10.0.0.0/8, 192.168.1.7,fd00::/8,::1';
    expect(apiConfigFromEnv({ TIDEMARK_API_TRUSTED_PROXIES: named }).trustedProxies).toEqual([
      '10.0.0.0/8',
      '192.168.1.7',
      'fd00::/8',
      '::1',
    ]);
  });

  it.each(['ingress.internal', '10.0.0.0/33', '10.0.0', 'true', '10.0.0.1,*', '10.0.0.1 10.0.0.2', 'fd00::/129'])(
    'take %j for no proxy',
    (named) => {
      expect(() => apiConfigFromEnv({ TIDEMARK_API_TRUSTED_PROXIES: named })).toThrowError(
        /TIDEMARK_API_TRUSTED_PROXIES: expected addresses and ranges such as/,
      );
    },
  );

  it.each(['0.0.0.0/0', '::/0', '10.0.0.1,0.0.0.0/0'])('believe not everybody (%s)', (named) => {
    expect(() => apiConfigFromEnv({ TIDEMARK_API_TRUSTED_PROXIES: named })).toThrowError(
      expect.objectContaining({ code: 'setting-invalid', message: expect.stringMatching(/everybody/) }),
    );
  });

  it('let everybody in on this machine alone', () => {
    for (const host of ['127.0.0.1', '127.0.0.9', 'localhost', '::1']) {
      expect(apiConfigFromEnv({ TIDEMARK_AUTH: 'off', TIDEMARK_API_HOST: host }).access).toBeNull();
    }
    for (const host of [
      '0.0.0.0',
      '::',
      '10.0.0.1',
      'tidemark.example',
      '127.0.0.1.example.org',
      'localhost.example',
    ]) {
      expect(() => apiConfigFromEnv({ TIDEMARK_AUTH: 'off', TIDEMARK_API_HOST: host })).toThrowError(
        expect.objectContaining({ name: 'ConfigError', code: 'auth-missing' }),
      );
      // The control: with keys it is served there.
      expect(apiConfigFromEnv({ TIDEMARK_API_HOST: host }).host).toBe(host);
    }
  });

  it.each<[Env, string, RegExp]>([
    [{ TIDEMARK_AUTH_KEYS: 'off' }, 'auth-missing', /nobody could be let in/],
    [{ TIDEMARK_AUTH: 'no' }, 'setting-invalid', /TIDEMARK_AUTH:/],
    [{ TIDEMARK_API_PORT: '99999' }, 'setting-invalid', /TIDEMARK_API_PORT/],
    [{ ...OIDC, TIDEMARK_AUTH_OIDC_AUDIENCE: '' }, 'setting-invalid', /TIDEMARK_AUTH_OIDC_AUDIENCE/],
    [{ ...OIDC, TIDEMARK_AUTH_OIDC_ROLES: 'x=root' }, 'setting-invalid', /NAME=ROLE/],
    [{ ...OIDC, TIDEMARK_AUTH_OIDC_TENANT: '~tidemark' }, 'tenant-invalid', /~/],
  ])('refuse %j', (env, code, said) => {
    let error: unknown;
    try {
      apiConfigFromEnv(env);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ code });
    expect((error as Error).message).toMatch(said);
  });
});
