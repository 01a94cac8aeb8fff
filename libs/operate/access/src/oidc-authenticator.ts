/**
 * Owns who a caller with a token of an OpenID Connect issuer is: a JSON Web Token that the issuer signed, for this service, within its
 * time.
 *
 * O1 Only signatures with the issuer's own public keys count, by asymmetric algorithms: never `none`, nor one with a shared secret.
 * O2 A token of another type (a logout token, an event) is refused.
 */

import { ConfigError, InvalidError, UnavailableError } from '@tidemark/core';
import type { AccessChanged, Authenticator, Clock, Credentials, Principal } from '@tidemark/ports';
import { checkName } from '@tidemark/runtime';
import { type CryptoKey, errors, type JWTVerifyGetKey, type JWTVerifyResult, jwtVerify } from 'jose';
import type { ActiveTenants } from './active-tenants.ts';
import { KEY_PREFIX } from './api-key.ts';
import { claimedNames } from './assignees.ts';
import { bearerOf } from './bearer.ts';
import { type ClaimMapping, rolesIn, tenantIn } from './claims.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { SUBJECT_MAX_CHARS } from './limits.ts';
import { credentialsExpired, credentialsInvalid } from './refusals.ts';

/** Seconds by which the clocks of the issuer and of this process may differ. */
export const CLOCK_TOLERANCE_S = 30;
/** Keys that are tried for a token that names none: each costs a verification, also for forged tokens. */
export const ISSUER_KEYS_TRIED_MAX_COUNT = 8;

/** Algorithms that are accepted; each has a private and a public key. */
const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** RFC 9068 for access tokens; issuers use the others for tokens of APIs. */
const TYPES: readonly (string | undefined)[] = [undefined, 'jwt', 'at+jwt', 'application/at+jwt'];

export interface OidcOptions extends ClaimMapping {
  readonly issuer: string;
  /** Audience that tokens for this service name. */
  readonly audience: string;
  readonly jwksUrl?: string | undefined;
}

export interface OidcAuthenticatorOptions extends OidcOptions {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly tenants: Pick<ActiveTenants, 'check' | 'forget'>;
}

export class OidcAuthenticator implements Authenticator {
  readonly #options: OidcAuthenticatorOptions;
  readonly #keys: IssuerKeys;

  /** Throws `ConfigError` (`issuer-invalid`, `audience-missing`). */
  constructor(options: OidcAuthenticatorOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys(options);
    if (options.audience === '') {
      throw new ConfigError(
        'audience-missing',
        'Name the audience: without it, tokens for other services would be accepted.',
      );
    }
  }

  /** Whether the credentials are a token of the form that this authenticator judges. */
  takes({ authorization = '' }: Credentials): boolean {
    return !authorization.replace(/^bearer +/i, '').startsWith(KEY_PREFIX);
  }

  async authenticate(credentials: Credentials): Promise<Principal> {
    const { payload, protectedHeader } = await this.#verified(bearerOf(credentials));
    if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) throw credentialsInvalid('a token of another type');
    const tenant = this.#read(() => tenantIn(payload, this.#options));
    const subject = this.#read(() => checkName('sub', payload.sub, SUBJECT_MAX_CHARS));
    await this.#options.tenants.check(tenant);
    const [roles, names] = [rolesIn(payload, this.#options), claimedNames(payload, this.#options)];
    return { subject: `token:${subject}`, names, tenant, roles, kind: 'token' };
  }

  /** A suspended tenant counts at once in this process. */
  forget(changed: AccessChanged): void {
    if ('tenant' in changed) this.#options.tenants.forget(changed.tenant);
  }

  async #verified(token: string): Promise<JWTVerifyResult> {
    try {
      return await this.#verifiedByItsKey(token);
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      // Reported only after the signature proved valid.
      if (error instanceof errors.JWTExpired) throw credentialsExpired();
      throw credentialsInvalid(error instanceof errors.JOSEError ? error.code : 'no token');
    }
  }

  async #verifiedByItsKey(token: string): Promise<JWTVerifyResult> {
    try {
      return await this.#verify(token, this.#keys.find);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      return await this.#verifiedByAny(token, error);
    }
  }

  /** The token names no key, and its issuer has several: any of them may have signed it. */
  async #verifiedByAny(token: string, keys: AsyncIterable<CryptoKey>): Promise<JWTVerifyResult> {
    let triedCount = 0;
    for await (const key of keys) {
      if (++triedCount > ISSUER_KEYS_TRIED_MAX_COUNT) break;
      try {
        return await this.#verify(token, () => key);
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }

  #verify(token: string, find: JWTVerifyGetKey): Promise<JWTVerifyResult> {
    const { issuer, audience, clock } = this.#options;
    return jwtVerify(token, find, {
      issuer,
      audience,
      algorithms: TOKEN_ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(clock.nowMs()),
      requiredClaims: ['exp', 'sub'],
    });
  }

  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof InvalidError) throw credentialsInvalid(error.code);
      throw error;
    }
  }
}
