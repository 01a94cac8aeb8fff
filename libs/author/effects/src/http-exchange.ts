/**
 * Owns one exchange over `fetch`: sending, the redirects of a GET, reading within a bound. Must not judge an answer. Invariant: a method
 * that may change something is sent once, to the given address.
 */

import { LimitError, NotDoneError, UnavailableError } from '@tidemark/sdk';
import type { ReadyRequest } from './http-request.ts';
import { REASON_MAX_CHARS } from './limits.ts';

/** Bytes of an unwelcome response's body that are read for the error's excerpt. */
export const EXCERPT_MAX_BYTES = 2_048;
/** Redirects of one GET or HEAD that are followed. */
const REDIRECTS_MAX_COUNT = 5;

/** Sends and returns the response, its body unread. Throws `NotDoneError` when it was certainly not sent. */
export async function send(operation: string, request: ReadyRequest, signal: AbortSignal): Promise<Response> {
  if (signal.aborted) throw new NotDoneError(`${operation}: aborted before it was sent.`, { operation });
  const followed = request.method === 'GET' || request.method === 'HEAD';
  let { url, headers } = request;
  for (let hops = 0; ; hops += 1) {
    const response = await fetchOnce(operation, { ...request, url, headers }, signal, hops === 0);
    const next = followed ? redirectOf(response, url) : undefined;
    if (next === undefined || hops === REDIRECTS_MAX_COUNT) return response;
    await response.body?.cancel();
    // Another origin must not see the key or the credentials.
    if (next.origin !== url.origin) headers = new Headers();
    url = next;
  }
}

async function fetchOnce(
  operation: string,
  { url, method, headers, body }: ReadyRequest,
  signal: AbortSignal,
  first: boolean,
): Promise<Response> {
  try {
    return await fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal });
  } catch (error) {
    throw exchangeError(operation, url, error, signal, first);
  }
}

function redirectOf(response: Response, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(response.status)) return undefined;
  const next = URL.parse(response.headers.get('location') ?? '', from.href);
  return next !== null && /^https?:$/.test(next.protocol) && next.username === '' ? next : undefined;
}

/** Reads all of the body as text. Throws `LimitError` beyond `maxBytes`, `UnavailableError` when it is cut off. */
export async function readWhole(
  operation: string,
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const { text, more } = await read(response, maxBytes).catch((error: unknown) => {
    throw exchangeError(operation, URL.parse(response.url), error, signal, false);
  });
  if (!more) return text;
  throw new LimitError(
    'http-response-too-large',
    `${operation}: status ${response.status}, but the response has more than ${maxBytes} bytes, and is not recorded. Ask for less, or raise responseMaxBytes.`,
    { operation, status: response.status, maxBytes },
  );
}

/** Reads the beginning of the body, or what there is of it: it only explains. */
export const readExcerpt = async (response: Response): Promise<string> =>
  (await read(response, EXCERPT_MAX_BYTES).catch(() => ({ text: '' }))).text;

async function read(response: Response, maxBytes: number): Promise<{ readonly text: string; readonly more: boolean }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body, and with it the connection.
  for await (const part of response.body ?? []) {
    parts.push(part);
    size += part.length;
    if (size > maxBytes) break;
  }
  const bytes = Buffer.concat(parts).subarray(0, maxBytes);
  return { text: new TextDecoder().decode(bytes), more: size > maxBytes };
}

/** The error of a failed exchange. The platform's error is not passed on: it may quote the request. */
function exchangeError(
  operation: string,
  url: URL | null,
  error: unknown,
  signal: AbortSignal,
  first: boolean,
): unknown {
  if (signal.aborted) return signal.reason;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const reason = reasonOf(cause);
  const details = { operation, host: url?.host ?? '', reason };
  const where = `${operation}: ${details.host}`;
  return first && neverSent(cause)
    ? new NotDoneError(`${where} was not reached: ${reason}.`, details)
    : new UnavailableError(
        'http-cut',
        `${where} gave no complete response: ${reason}. Whether it was done is unknown.`,
        details,
      );
}

/** Errors of these codes come from the handshake, before a byte of the request is sent. */
const HANDSHAKE = /^(?:UND_ERR_CONNECT_TIMEOUT$|ERR_TLS_|CERT_|UNABLE_TO_|ERR_SSL_WRONG_VERSION_NUMBER$)|_SIGNED_CERT/;

/** A host that becomes unreachable may also end an established connection with such a code: only `connect` proves that nothing was sent. */
function neverSent(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(neverSent);
  const { code, syscall, message } = cause as { code?: unknown; syscall?: unknown; message?: unknown };
  // The platform's own refusal of ports that belong to other protocols (Fetch, section 2.9); it has no code.
  if (message === 'bad port') return true;
  return syscall === 'connect' || syscall === 'getaddrinfo' || (typeof code === 'string' && HANDSHAKE.test(code));
}

function reasonOf(cause: unknown): string {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  return String(code ?? message ?? cause).slice(0, REASON_MAX_CHARS);
}
