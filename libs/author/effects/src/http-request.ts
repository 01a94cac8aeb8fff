/**
 * Owns preparing a user's request for `fetch`. Every fault of a request shows here, before anything leaves the process. Invariant: no error
 * holds a header's value, a body, or an address beyond its host; the platform's own errors quote them, so they are not passed on.
 */

import { NotDoneError } from '@tidemark/sdk';

/** A request as a user describes it. */
export interface HttpRequest {
  readonly url: string | URL;
  /** Default: `POST` with a body, else `GET`. */
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  /** Sent as the body, as JSON, with the fitting content type. */
  readonly json?: unknown;
}

/** A request that can be sent. */
export interface ReadyRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** Throws `NotDoneError` that names the fault. `key` is the header of the idempotency key, if one is sent. */
export function ready(
  operation: string,
  request: HttpRequest,
  key: { readonly name: string; readonly value: string } | undefined,
): ReadyRequest {
  const refuse = (problem: string): never => {
    throw new NotDoneError(`${operation}: the request can't be sent: ${problem}.`, { operation });
  };
  if (request.body !== undefined && request.json !== undefined) refuse('it has a body and json; give one of them');
  const url = URL.parse(String(request.url)) ?? refuse('its url is not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') refuse('its url is neither http nor https');
  if (url.username !== '' || url.password !== '') refuse('its url holds credentials; send them in a header');
  const body = request.json === undefined ? request.body : jsonOf(request.json, refuse);
  const method = request.method?.toUpperCase() ?? (body === undefined ? 'GET' : 'POST');
  if (!/^[A-Z][A-Z-]*$/.test(method)) refuse('its method is not one of HTTP');
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) refuse(`${method} takes no body`);
  const headers = headersOf(request, refuse);
  if (key !== undefined) {
    if (headers.has(key.name)) refuse(`it sets ${key.name}, which carries the effect's key`);
    headers.set(key.name, key.value);
  }
  return { url, method, headers, body };
}

function jsonOf(value: unknown, refuse: (problem: string) => never): string {
  try {
    return JSON.stringify(value) ?? refuse('its json is not a JSON value');
  } catch {
    return refuse('its json is not a JSON value');
  }
}

function headersOf(request: HttpRequest, refuse: (problem: string) => never): Headers {
  const headers = new Headers();
  if (request.json !== undefined) headers.set('content-type', 'application/json');
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    try {
      headers.set(name, value);
    } catch {
      refuse(`header ${JSON.stringify(name.slice(0, 64))} has a name or value that HTTP doesn't allow`);
    }
  }
  return headers;
}
