/**
 * Owns the requests to the server: token, time-outs, retries. The caller judges a refusal that waiting does not mend. Answers are checked
 * before anything of them is used; an unreadable one is reported without being quoted, since it may hold a data key. Whatever was sent,
 * token and data key included, is masked in the server's own words.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { ConfigError, TidemarkError, type UnavailableError } from '@tidemark/core';
import { isInClear } from '@tidemark/ports';
import { EchoMask } from '@tidemark/secrets';
import { z } from 'zod';
import { isPassing, type Refusal, unavailable, unreachable } from './transit-faults.ts';
import type { TokenSource } from './transit-token.ts';

/** Requests under way at once; more wait. */
const REQUESTS_AT_ONCE = 32;
/** Attempts of one request, the first included. */
const ATTEMPTS_MAX = 4;
/** Pause before the second attempt, in milliseconds; doubled before each further one, up to the greatest, and shortened at random. */
const PAUSE_FIRST_MS = 100;
const PAUSE_MAX_MS = 2_000;
/** How long a request may go without its whole answer, in milliseconds. The engine answers within a few. */
const REQUEST_TIMEOUT_MS = 10_000;

export interface TransitClientOptions {
  /** `https://host:port`, without a path. */
  readonly address: string;
  readonly tokens: TokenSource;
  readonly namespace?: string | undefined;
  /** Longest wait for an answer, in milliseconds. */
  readonly requestTimeoutMs?: number | undefined;
  /** Attempts of one request, the first included. */
  readonly attemptsMax?: number | undefined;
}

export interface TransitRequest<T> {
  readonly path: string;
  /** Absent: the request is a read of the path, without a body. */
  readonly body?: Readonly<Record<string, string>>;
  readonly answer: z.ZodType<T>;
  /** Name of the key in errors. */
  readonly where: string;
}

export type TransitAnswer<T> = { readonly data: T } | { readonly refusal: Refusal };

const errorsSchema = z.object({ errors: z.array(z.string()) });

/** Checks the address. Throws `ConfigError` (`key-address-invalid`); an address with credentials is not repeated. */
export function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isPlain =
    url !== undefined && url.username === '' && url.password === '' && url.pathname === '/' && url.search === '';
  // It is sent a token and data keys.
  if (url === undefined || !/^https?:$/.test(url.protocol) || !isPlain || isInClear(url)) {
    const message =
      'The address of the transit engine must be like https://host:8200, without path and credentials; http:// is for this machine alone.';
    throw new ConfigError('key-address-invalid', message);
  }
  return url.origin;
}

export class TransitClient {
  readonly #options: TransitClientOptions;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  #isClosed = false;

  constructor(options: TransitClientOptions) {
    this.#options = options;
  }

  /** Throws `UnavailableError` (`keys-unavailable`) when the attempts are used up, `ConfigError` (`key-token-invalid`). */
  async ask<T>(request: TransitRequest<T>): Promise<TransitAnswer<T>> {
    if (this.#underWay >= REQUESTS_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay++;
    try {
      return await this.#tried(request);
    } finally {
      // The next fault replaces this one.
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  async #tried<T>(request: TransitRequest<T>): Promise<TransitAnswer<T>> {
    const { attemptsMax = ATTEMPTS_MAX } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#withToken(request);
      if (!(outcome instanceof TidemarkError)) return outcome;
      if (attempt >= attemptsMax) throw outcome;
      const longest = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** (attempt - 1));
      await pause(longest * (0.5 + Math.random() / 2));
    }
  }

  /** Repeats the request with a newer token where the first was refused. */
  async #withToken<T>(request: TransitRequest<T>): Promise<TransitAnswer<T> | UnavailableError> {
    const { tokens } = this.#options;
    for (let isFirst = true; ; isFirst = false) {
      if (this.#isClosed) throw unreachable(request.where, 'the keys are closed');
      const token = await tokens.token();
      const outcome = await this.#send(request, token);
      const isRefused = 'refusal' in outcome && outcome.refusal.status === 403;
      if (!isRefused || !isFirst || !(await tokens.renewed(token))) return outcome;
    }
  }

  /** Returns a fault that may pass as a value. */
  async #send<T>(request: TransitRequest<T>, token: string): Promise<TransitAnswer<T> | UnavailableError> {
    const { address, namespace, requestTimeoutMs = REQUEST_TIMEOUT_MS } = this.#options;
    let status: number;
    let text: string;
    try {
      const response = await fetch(`${address}/v1/${request.path}`, {
        method: request.body === undefined ? 'GET' : 'POST',
        headers: {
          'content-type': 'application/json',
          'x-vault-token': token,
          'x-vault-request': 'true',
          ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
        },
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
        // A redirect must not carry the token to another server.
        redirect: 'manual',
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      status = response.status;
      text = await response.text();
    } catch (error) {
      return unreachable(request.where, reasonOf(error), error);
    }
    if (status < 200 || status >= 300) {
      const sent = new EchoMask([token, ...Object.values(request.body ?? {})], '[masked]');
      return refusalOf(request.where, status, sent.text(text));
    }
    const answer = request.answer.safeParse(json(text));
    if (answer.success) return { data: answer.data };
    return unreachable(request.where, 'the server there is not OpenBao or Vault, or is an unknown version of it');
  }
}

function refusalOf(where: string, status: number, text: string): { readonly refusal: Refusal } | UnavailableError {
  const said = errorsSchema.safeParse(json(text));
  const refusal = { status, said: said.success ? said.data.errors.join('; ') : '' };
  return isPassing(refusal) ? unavailable(where, refusal) : { refusal };
}

function reasonOf(error: unknown): string {
  const { name, cause } = error as { readonly name?: string; readonly cause?: { readonly code?: unknown } };
  if (name === 'TimeoutError') return 'the server did not answer in time';
  return `the server can't be reached${typeof cause?.code === 'string' ? ` (${cause.code})` : ''}`;
}

/** A parser's message would quote the text. */
function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
