/**
 * Owns one request over the wire: its address, its attempts, and what its answer means. It runs in browsers as well: it uses `fetch` and
 * nothing of Node. A request that may have been executed is repeated only where twice is the same as once.
 */

import { TidemarkApiError } from './api-error.ts';
import type { Answer, Endpoint, Input } from './endpoints.ts';
import { PAUSE_FIRST_MS, PAUSE_MAX_MS, TRIES_MAX_COUNT } from './limits.ts';

/** Time after which an attempt without an answer counts as lost, in milliseconds. */
const TRY_TIMEOUT_MS = 30_000;

export interface WireOptions {
  /** Address of the API: `http://127.0.0.1:7070`. */
  readonly url: string;
  /** What messages call it; default: the address. */
  readonly shown?: string | undefined;
  /**
   * An API key or an OIDC token, or a function that returns the newest one. Absent: requests carry none. A `TidemarkApiError` from the
   * function counts as the server's own; any other error as a missing answer.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Another `fetch`, such as one with a proxy. */
  readonly fetch?: typeof fetch | undefined;
  /** Attempts of one request in all. */
  readonly tries?: number | undefined;
}

export interface Asked {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Twice is the same as once; true for every GET. */
  readonly isRepeatable?: boolean | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Attempts in all, in place of the client's. */
  readonly tries?: number | undefined;
}

export class Wire {
  readonly #options: WireOptions;

  constructor(options: WireOptions) {
    this.#options = options;
  }

  /** Throws `TidemarkApiError`, and the signal's reason when that aborts. */
  async ask<E extends Endpoint>(endpoint: E, input: Input<E>, options: AskOptions = {}): Promise<Answer<E>> {
    const [method = '', path = ''] = endpoint.split(' ', 2);
    const { params, query, body } = input as Asked;
    const { signal, headers, isRepeatable = method === 'GET' } = options;
    const tries = options.tries ?? this.#options.tries ?? TRIES_MAX_COUNT;
    const sent = body === undefined ? undefined : JSON.stringify(body);
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.send(method, this.address(path, params, query), { body: sent, signal, headers });
        return (await response.json()) as Answer<E>;
      } catch (error) {
        signal?.throwIfAborted();
        const failure =
          error instanceof TidemarkApiError ? error : unreachable(this.#options.shown ?? this.#options.url, error);
        // A refusal for want of capacity came before anything was done.
        const mayRetry = failure.canRetry && (isRepeatable || failure.status === 429);
        if (!mayRetry || attempt >= tries) throw failure;
        await pause(failure.retryAfterMs ?? Math.min(PAUSE_FIRST_MS * 2 ** (attempt - 1), PAUSE_MAX_MS), signal);
      }
    }
  }

  /** Opens a connection for a stream; `lastId`: of the last event read. Throws as `send` does. */
  connect(address: string, lastId: string | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const headers = { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) };
    return this.send('GET', address, { headers, signal, timeoutMs: null });
  }

  address(path: string, params: Asked['params'] = {}, query: Asked['query'] = {}): string {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
    const url = new URL(this.#options.url.replace(/(?<!\/)\/+$/, '') + filled);
    for (const [name, value] of Object.entries(query)) {
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each !== undefined) url.searchParams.append(name, String(each));
      }
    }
    return url.href;
  }

  /** One attempt. Throws `TidemarkApiError` for an answer that is a problem, and what `fetch` throws. */
  async send(
    method: string,
    address: string,
    { body, signal, headers = {}, timeoutMs = TRY_TIMEOUT_MS }: SendOptions = {},
  ): Promise<Response> {
    const { token, fetch: send = fetch } = this.#options;
    const shown = typeof token === 'function' ? await token() : token;
    const signals = [
      ...(signal === undefined ? [] : [signal]),
      ...(timeoutMs === null ? [] : [AbortSignal.timeout(timeoutMs)]),
    ];
    const response = await send(address, {
      method,
      headers: {
        ...(shown !== undefined && { authorization: `Bearer ${shown}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
      // A redirect is not followed, so that no other address than the configured one learns of the request.
      redirect: 'error',
    });
    if (response.ok) return response;
    throw await reported(response);
  }
}

export interface SendOptions {
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Null: no limit. */
  readonly timeoutMs?: number | null;
}

async function reported(response: Response): Promise<TidemarkApiError> {
  const { status, statusText, headers } = response;
  const text = await response.text().catch(() => '');
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1_000 : undefined;
  const serverVersion = headers.get('tidemark-version') ?? undefined;
  try {
    const problem = JSON.parse(text) as { readonly code: string; readonly detail: string };
    // Also what a proxy, or a server that is closing, makes of its own.
    if (typeof problem.code !== 'string') throw new TypeError('no problem of this API');
    return new TidemarkApiError({ ...problem, status }, { retryAfterMs, serverVersion });
  } catch {
    const detail = `The server answered ${status} ${statusText}`;
    return new TidemarkApiError({ status, code: 'answer-unreadable', detail }, { retryAfterMs });
  }
}

const unreachable = (url: string, cause: unknown): TidemarkApiError => {
  // The message is only `fetch failed`; its cause says why, and where several addresses were tried, the cause's code.
  const inner = cause instanceof TypeError ? (cause.cause as Partial<NodeJS.ErrnoException> | undefined) : undefined;
  const why = inner?.message || inner?.code || (cause instanceof Error ? cause.message : String(cause));
  return new TidemarkApiError(
    { status: 0, code: 'unreachable', detail: `There was no answer from ${url}: ${why}` },
    { cause },
  );
};

export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
