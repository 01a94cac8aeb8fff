/**
 * Owns logging in with an issuer of tokens: by a code that is typed in a browser, on any machine (RFC 8628), and the renewal of the
 * resulting tokens. Must not print a token.
 */

import { TidemarkApiError } from '@tidemark/client';
import { AccessError, isoTime, TidemarkError, UnavailableError } from '@tidemark/core';
import { isInClear } from '@tidemark/ports';
import type { Session } from '../session.ts';
import { changeContexts } from './contexts.ts';
import type { Credential } from './contexts-file.ts';

/** How long, in milliseconds, an issuer of tokens may take to answer. */
const ISSUER_ANSWER_MS = 10_000;
/** A token that expires sooner than this, in milliseconds, is renewed before it is used. */
const TOKEN_SPARE_MS = 30_000;
/** How long, in milliseconds, a person may take to log in. */
const LOGIN_MAX_MS = 600_000;

type OidcCredential = Extract<Credential, { kind: 'oidc' }>;
type Tokens = {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  expiresIn(): number | undefined;
};

/** What a server gets; what needs no immediate renewal. */
export function tokenOf(
  name: string,
  credential: Credential,
  env: Session['env'],
): string | (() => Promise<string>) | undefined {
  if (credential.kind === 'none') return undefined;
  if (credential.kind === 'key') return credential.key;
  let newest = credential;
  // One command at a time: an issuer may accept a refresh token once, and end the login when it is used a second time.
  const renew = (): Promise<unknown> =>
    changeContexts(env, async (file) => {
      const known = file.contexts[name];
      if (known?.credential.kind === 'oidc') newest = known.credential;
      if (!isDue(newest)) return file;
      newest = await renewed(name, newest);
      if (known === undefined) return file;
      return { ...file, contexts: { ...file.contexts, [name]: { ...known, credential: newest } } };
    });
  let renewing: Promise<unknown> | undefined;
  return async () => {
    if (isDue(newest)) {
      // Concurrent requests share one renewal.
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      await renewing.catch((error: unknown) => {
        throw unrenewed(error);
      });
    }
    return newest.access_token;
  };
}

const isDue = ({ expires_at }: OidcCredential): boolean => Date.parse(expires_at) - Date.now() < TOKEN_SPARE_MS;

export interface DeviceLogin {
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
  readonly audience?: string | undefined;
}

/**
 * Resolves once the user has typed the code. `onCode` receives the address and the code. Throws `AccessError` (`login-refused`),
 * `UnavailableError` (`issuer-unavailable`).
 */
export async function deviceLogin(
  { issuer, clientId, scope, audience }: DeviceLogin,
  onCode: (where: string, code: string) => void,
  signal: AbortSignal,
): Promise<OidcCredential> {
  return asking(issuer, async () => {
    const { oidc, config } = await discovered(issuer, clientId);
    const asked = { scope, ...(audience !== undefined && { audience }) };
    const device = await oidc.initiateDeviceAuthorization(config, asked);
    onCode(device.verification_uri_complete ?? device.verification_uri, device.user_code);
    const late = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_MAX_MS)]);
    const tokens = await oidc.pollDeviceAuthorizationGrant(config, device, undefined, { signal: late });
    return credentialOf({ issuer, clientId }, tokens, null);
  });
}

/** Throws as `deviceLogin` does. */
async function renewed(name: string, credential: OidcCredential): Promise<OidcCredential> {
  const { issuer, client_id: clientId, refresh_token: refresh } = credential;
  if (refresh === null) throw loginAgain(name);
  try {
    return await asking(issuer, async () => {
      const { oidc, config } = await discovered(issuer, clientId);
      return credentialOf({ issuer, clientId }, await oidc.refreshTokenGrant(config, refresh), refresh);
    });
  } catch (error) {
    throw error instanceof AccessError && error.code === 'login-refused' ? loginAgain(name) : error;
  }
}

/** Throws `AccessError` (`login-in-clear`): codes and tokens would be read on their way. */
function refuseClear(url: string): void {
  if (!isInClear(new URL(url))) return;
  throw new AccessError(
    'login-in-clear',
    `--oidc: ${new URL(url).origin} is not encrypted, and tokens would cross the network in clear. Name an issuer by https:// (http:// is for this machine alone).`,
  );
}

async function discovered(issuer: string, clientId: string) {
  refuseClear(issuer);
  // Only a login loads it.
  const oidc = await import('openid-client');
  const execute = new URL(issuer).protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
  const options = { execute, timeout: ISSUER_ANSWER_MS / 1_000 };
  const config = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), options);
  // An issuer on this machine may name others.
  const { token_endpoint: tokens, device_authorization_endpoint: device } = config.serverMetadata();
  for (const endpoint of [tokens, device]) if (endpoint !== undefined) refuseClear(endpoint);
  return { oidc, config };
}

const credentialOf = (
  { issuer, clientId }: Pick<DeviceLogin, 'issuer' | 'clientId'>,
  tokens: Tokens,
  before: string | null,
): OidcCredential => ({
  ...{ kind: 'oidc', issuer, client_id: clientId, access_token: tokens.access_token },
  refresh_token: tokens.refresh_token ?? before,
  expires_at: isoTime(Date.now() + (tokens.expiresIn() ?? 300) * 1_000),
});

/** In the client's form of refusals: one that no retry helps ends the request or stream, and an unreachable issuer may come back. */
function unrenewed(error: unknown): unknown {
  if (!(error instanceof TidemarkError)) return error;
  const { code, message: detail } = error;
  return new TidemarkApiError(
    { status: error instanceof UnavailableError ? 503 : 401, code, detail },
    { cause: error },
  );
}

/** An issuer's refusal is reported by its code alone: its words may quote the request. */
async function asking<T>(issuer: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AccessError) throw error;
    const { error: refusal, name } = error as { readonly error?: unknown; readonly name?: unknown };
    if (typeof refusal === 'string') {
      throw new AccessError('login-refused', `${issuer} refused it: ${refusal.slice(0, 100)}. Log in again.`);
    }
    const why =
      name === 'TimeoutError'
        ? 'it did not answer in time'
        : 'it could not be asked, or did not answer as an issuer does';
    throw new UnavailableError('issuer-unavailable', `${issuer}: ${why}.`, { cause: error });
  }
}

const loginAgain = (name: string): AccessError =>
  new AccessError(
    'credentials-expired',
    `The credential of context ${name} has expired: tidemark login --context ${name} renews it.`,
  );
