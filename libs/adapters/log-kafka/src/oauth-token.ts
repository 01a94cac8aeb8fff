/**
 * Owns tokens for Kafka from an OAuth 2.0 token endpoint, by client credentials. One token serves all connections until a fifth of its time is
 * left. Must not store or show the secret.
 */

import { messageOf, UnavailableError } from '@tidemark/core';

/** Part of its time for which a token is used; and how long one that doesn't say is used, in milliseconds. */
const USED_SHARE = 0.8;
const USED_MS = 60_000;
const TIMEOUT_S = 10;

export interface OAuthTokenOptions {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: () => Promise<string>;
  /** Empty: none is asked for. */
  readonly scope: string;
}

/** A source of tokens. It throws `UnavailableError` (`log-token-unavailable`), which names the endpoint and what it answered. */
export function oauthTokens(options: OAuthTokenOptions): () => Promise<string> {
  let current: Promise<{ readonly token: string; readonly untilMs: number }> | undefined;
  return async () => {
    const known = await current?.catch(() => undefined);
    if (known !== undefined && performance.now() < known.untilMs) return known.token;
    const asked = granted(options);
    current = asked;
    return (await asked).token;
  };
}

async function granted({ tokenUrl, clientId, clientSecret, scope }: OAuthTokenOptions) {
  const { allowInsecureRequests, ClientSecretBasic, clientCredentialsGrant, Configuration } = await import(
    'openid-client'
  );
  const askedMs = performance.now();
  try {
    const endpoint = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
    const config = new Configuration(endpoint, clientId, undefined, ClientSecretBasic(await clientSecret()));
    config.timeout = TIMEOUT_S;
    if (tokenUrl.startsWith('http:')) allowInsecureRequests(config);
    const answer = await clientCredentialsGrant(config, scope === '' ? {} : { scope });
    const usedMs = answer.expires_in === undefined ? USED_MS : answer.expires_in * 1_000 * USED_SHARE;
    return { token: answer.access_token, untilMs: askedMs + usedMs };
  } catch (error) {
    const message = `${tokenUrl} gave no token for Kafka: ${messageOf(error)}`;
    throw new UnavailableError('log-token-unavailable', message, { url: tokenUrl, cause: error });
  }
}
