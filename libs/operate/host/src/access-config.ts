/**
 * Owns the settings of who is let in over HTTP and where it is served: their names in the environment, defaults and checks. A server
 * without credentials must be reachable from its own machine alone.
 */

import { callersTenant, type OidcOptions } from '@tidemark/access';
import { isLoopback } from '@tidemark/access/http-guard';
import { ConfigError } from '@tidemark/core';
import { ROLES, type Role } from '@tidemark/ports';
import { z } from 'zod';

const onOff = z.enum(['on', 'off']);
const words = z.string().transform((text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== ''),
);

const RANGE = 'expected addresses and ranges such as 10.0.0.0/8, separated by commas';
const range = z
  .union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], { error: RANGE })
  .refine((text) => !/\/0+$/.test(text), { error: `${RANGE}; /0 is everybody` });

const settings = {
  /** Where the API and the console are served. */
  TIDEMARK_API_HOST: z.string().min(1).default('127.0.0.1'),
  /** Empty: 7070. 0: any free port. A coordinator whose port is taken exits: callers would show their keys to the process that has it. */
  TIDEMARK_API_PORT: z.union([z.literal(''), z.coerce.number().int().min(0).max(65_535)]).default(''),
  /** Names of the server, without port, separated by commas; empty: any. */
  TIDEMARK_API_HOSTS: words.default([]),
  /** Addresses and ranges of proxies whose X-Forwarded-For is trusted, separated by commas; empty: none. */
  TIDEMARK_API_TRUSTED_PROXIES: words.pipe(z.array(range)).default([]),
  /** `off`: every caller is an administrator; on this machine alone. */
  TIDEMARK_AUTH: onOff.default('on'),
  /** API keys are accepted. */
  TIDEMARK_AUTH_KEYS: onOff.default('on'),
  /** Tokens of this issuer are accepted; written exactly as tokens name it. */
  TIDEMARK_AUTH_OIDC_ISSUER: z.string().default(''),
  TIDEMARK_AUTH_OIDC_AUDIENCE: z.string().default(''),
  /** Address of its keys, for an issuer without a discovery document. */
  TIDEMARK_AUTH_OIDC_JWKS_URL: z.string().default(''),
  /** The claim that names the tenant; or the tenant of every caller. */
  TIDEMARK_AUTH_OIDC_TENANT_CLAIM: z.string().min(1).default('tenant'),
  TIDEMARK_AUTH_OIDC_TENANT: z.string().default(''),
  /** The claim's value for callers who may see all tenants; empty: none may. */
  TIDEMARK_AUTH_OIDC_ALL_TENANTS: z.string().default(''),
  TIDEMARK_AUTH_OIDC_ROLES_CLAIM: z.string().min(1).default('roles'),
  /** `engineers=operator,leads=approver`; empty: roles have our names. */
  TIDEMARK_AUTH_OIDC_ROLES: words
    .pipe(
      z.array(z.string().regex(new RegExp(`^.+=(${ROLES.join('|')})$`), `expected NAME=ROLE of ${ROLES.join(', ')}`)),
    )
    .default([]),
  /** The claim by which tasks ask a person, and the one with teams; empty: no team is asked. */
  TIDEMARK_AUTH_OIDC_USER_CLAIM: z.string().min(1).default('sub'),
  TIDEMARK_AUTH_OIDC_TEAMS_CLAIM: z.string().default(''),
} as const;

export type ApiConfig = Readonly<ReturnType<typeof apiConfigFromEnv>>;

/** Throws `ConfigError` (`setting-invalid`, `auth-missing`) that names the setting, never its value. */
export function apiConfigFromEnv(env: Readonly<Record<string, string | undefined>>) {
  const parsed = z.object(settings).safeParse(env);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${String(path[0])}: ${message}`);
    throw invalid(problems.join('; '));
  }
  const { data } = parsed;
  const { TIDEMARK_API_HOST: host, TIDEMARK_API_PORT: port } = data;
  const access = data.TIDEMARK_AUTH === 'off' ? null : { keys: data.TIDEMARK_AUTH_KEYS === 'on', oidc: oidcOf(data) };
  if (access === null && !isLoopback(host)) {
    throw new ConfigError(
      'auth-missing',
      'TIDEMARK_AUTH=off lets everybody do everything, and TIDEMARK_API_HOST is not of this machine alone, so nothing is served. Remove TIDEMARK_AUTH=off, or set TIDEMARK_API_HOST=127.0.0.1.',
    );
  }
  if (access !== null && !access.keys && access.oidc === null) {
    throw new ConfigError(
      'auth-missing',
      'TIDEMARK_AUTH_KEYS is off and TIDEMARK_AUTH_OIDC_ISSUER is not set: nobody could be let in. Allow one of them.',
    );
  }
  return {
    host,
    /** Null: the default. 0: any free port. */
    port: port === '' ? null : port,
    hosts: data.TIDEMARK_API_HOSTS,
    trustedProxies: data.TIDEMARK_API_TRUSTED_PROXIES,
    /** Null: every caller is let in, as an administrator. */
    access,
  };
}

type Data = z.output<z.ZodObject<typeof settings>>;

function oidcOf(data: Data): OidcOptions | null {
  const issuer = data.TIDEMARK_AUTH_OIDC_ISSUER;
  if (issuer === '') return null;
  if (data.TIDEMARK_AUTH_OIDC_AUDIENCE === '') {
    throw invalid('TIDEMARK_AUTH_OIDC_AUDIENCE is not set: without it, tokens for other services would be accepted');
  }
  const roles = new Map(
    data.TIDEMARK_AUTH_OIDC_ROLES.map((pair) => {
      const at = pair.lastIndexOf('=');
      return [pair.slice(0, at).trim(), pair.slice(at + 1) as Role] as const;
    }),
  );
  const [jwksUrl, tenant, allTenants] = [
    data.TIDEMARK_AUTH_OIDC_JWKS_URL,
    data.TIDEMARK_AUTH_OIDC_TENANT,
    data.TIDEMARK_AUTH_OIDC_ALL_TENANTS,
  ];
  return {
    issuer,
    audience: data.TIDEMARK_AUTH_OIDC_AUDIENCE,
    tenantClaim: data.TIDEMARK_AUTH_OIDC_TENANT_CLAIM,
    rolesClaim: data.TIDEMARK_AUTH_OIDC_ROLES_CLAIM,
    userClaim: data.TIDEMARK_AUTH_OIDC_USER_CLAIM,
    ...(data.TIDEMARK_AUTH_OIDC_TEAMS_CLAIM !== '' && { teamsClaim: data.TIDEMARK_AUTH_OIDC_TEAMS_CLAIM }),
    ...(jwksUrl !== '' && { jwksUrl }),
    ...(tenant !== '' && { tenant: callersTenant(tenant) }),
    ...(allTenants !== '' && { allTenants }),
    ...(roles.size > 0 && { roles }),
  };
}

const invalid = (problems: string): ConfigError =>
  new ConfigError('setting-invalid', `Wrong settings in the environment: ${problems}.`);
