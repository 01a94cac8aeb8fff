/**
 * Owns the public keys of an issuer of tokens: found by its discovery document, fetched again when they are old or when a token names an
 * unknown one (the issuer has changed its keys), and used for a bounded time while the issuer can't be reached.
 */

import { ConfigError, messageOf, UnavailableError } from '@tidemark/core';
import { type Clock, isInClear } from '@tidemark/ports';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';

/** Milliseconds for which an issuer's keys are used without a new fetch; and in all while the issuer can't be reached. */
export const ISSUER_KEYS_FRESH_MS = 600_000;
export const ISSUER_KEYS_STALE_MAX_MS = 3_600_000;
/** Pause between two fetches for unknown keys that tokens name, in milliseconds: anybody can name a key. */
export const ISSUER_REFETCH_MS = 5_000;
/** Longest wait for an issuer's answer, in milliseconds, and its largest, in bytes. */
const ISSUER_TIMEOUT_MS = 5_000;
const ISSUER_ANSWER_MAX_BYTES = 1_048_576;

export interface IssuerKeysOptions {
  /** Exactly as tokens name it. */
  readonly issuer: string;
  /** Address of its keys, for issuers without a discovery document. */
  readonly jwksUrl?: string | undefined;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

interface Known {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  readonly atMs: number;
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #known: Known | undefined;
  #asking: Promise<Known> | undefined;
  /** When the last fetch began, on the monotonic clock, whatever its outcome. */
  #fetchedMs = Number.NEGATIVE_INFINITY;

  /** Throws `ConfigError` (`issuer-invalid`). */
  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    checkedAddress(options.issuer, 'the issuer');
    if (options.jwksUrl !== undefined) checkedAddress(options.jwksUrl, "the issuer's keys");
  }

  /** For `jwtVerify`. Rejects with `JWKSNoMatchingKey`, or `UnavailableError` (`issuer-unavailable`). */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const known = await this.#fresh();
    try {
      return await known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#mayRefetch()) throw error;
      return (await this.#ask()).find(header, token);
    }
  };

  async #fresh(): Promise<Known> {
    const known = this.#known;
    if (known === undefined) return this.#ask();
    const ageMs = this.#nowMs() - known.atMs;
    if (ageMs < ISSUER_KEYS_FRESH_MS) return known;
    // Not every request waits for an issuer that was unreachable a moment ago.
    if (ageMs < ISSUER_KEYS_STALE_MAX_MS && !this.#mayRefetch()) return known;
    try {
      return await this.#ask();
    } catch (error) {
      if (ageMs < ISSUER_KEYS_STALE_MAX_MS) return known;
      throw error;
    }
  }

  #mayRefetch(): boolean {
    return this.#asking !== undefined || this.#nowMs() - this.#fetchedMs >= ISSUER_REFETCH_MS;
  }

  /** Runs one fetch at a time. */
  #ask(): Promise<Known> {
    this.#asking ??= this.#fetchNow().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #fetchNow(): Promise<Known> {
    this.#fetchedMs = this.#nowMs();
    const { issuer } = this.#options;
    try {
      const atMs = this.#nowMs();
      const url = this.#options.jwksUrl ?? (await discovered(issuer));
      const jwks = (await answerOf(url)) as JSONWebKeySet;
      this.#known = { find: createLocalJWKSet(jwks), atMs };
      return this.#known;
    } catch (cause) {
      const why = messageOf(cause);
      throw new UnavailableError(
        'issuer-unavailable',
        `The keys of the issuer ${issuer} can't be fetched: ${why}. Tokens can't be checked until it answers.`,
        { issuer },
      );
    }
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** OpenID Connect Discovery 1.0, section 4: the document must name the very same issuer. */
async function discovered(issuer: string): Promise<string> {
  const document = await answerOf(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { issuer: named, jwks_uri: url } = document as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
  if (named !== issuer) throw new TypeError('its discovery document names another issuer');
  if (typeof url !== 'string') throw new TypeError('its discovery document names no keys');
  return checkedAddress(url, "the issuer's keys");
}

async function answerOf(url: string): Promise<object> {
  // Redirects are refused: their targets were not configured.
  const signal = AbortSignal.timeout(ISSUER_TIMEOUT_MS);
  const answer = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } });
  if (answer.status !== 200) throw new TypeError(`it answered ${answer.status}`);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.length;
    if (bytes > ISSUER_ANSWER_MAX_BYTES)
      throw new TypeError(`its answer is larger than ${ISSUER_ANSWER_MAX_BYTES} bytes`);
    parts.push(part);
  }
  const parsed: unknown = JSON.parse(Buffer.concat(parts).toString());
  if (typeof parsed !== 'object' || parsed === null) throw new TypeError('its answer is not a JSON object');
  return parsed;
}

/** A plain connection could replace the keys. Throws `ConfigError` (`issuer-invalid`). */
function checkedAddress(url: string, what: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isSafe = parsed !== undefined && /^https?:$/.test(parsed.protocol) && !isInClear(parsed);
  if (isSafe && parsed.username === '' && parsed.password === '') return url;
  throw new ConfigError(
    'issuer-invalid',
    `The address of ${what} must be https://… without credentials (http:// for this machine alone).`,
  );
}
