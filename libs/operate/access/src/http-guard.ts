/**
 * Owns which HTTP requests are accepted at all: those to a name of the server (a page that made its own name point here sends that name),
 * from no page of another origin, and with only one meaning. It does not judge who the caller is. Pure.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { AccessError, InvalidError } from '@tidemark/core';

export { isLoopback } from '@tidemark/ports';

export interface HttpGuard {
  /** Names of the server, without port. Absent: any. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of web pages that may call it beside its own, such as `https://example.com`. */
  readonly origins?: readonly string[] | undefined;
}

/** Names of a server on loopback. */
export const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'] as const;

/** `AccessError` (`host-refused`, `origin-refused`), which does not say what would be accepted; undefined: the request is accepted. */
export function refusalOf(headers: IncomingHttpHeaders, { hosts, origins = [] }: HttpGuard): AccessError | undefined {
  const host = (headers.host ?? '').toLowerCase();
  if (hosts !== undefined && !holds(hosts, nameOf(host))) {
    return new AccessError('host-refused', 'This host is not served here (Host).');
  }
  // Pages of other origins can't read the answer, since nothing allows them to; they must not cause an action either.
  const { origin } = headers;
  if (origin === undefined || URL.parse(origin)?.host === host || holds(origins, origin.toLowerCase()))
    return undefined;
  return new AccessError('origin-refused', 'Pages of this origin are not served here (Origin).');
}

const holds = (texts: readonly string[], text: string): boolean => texts.some((one) => one.toLowerCase() === text);

/** The host without its port; empty where it is none. */
const nameOf = (host: string): string => /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';

/** Headers that a request may have once: of two, a proxy might use the other. */
const SINGLE = ['host', 'authorization', 'content-length', 'content-type', 'transfer-encoding'];

/** `InvalidError` (`request-ambiguous`) for a request that two servers could understand in two ways; undefined: it is clear. */
export function ambiguityOf({
  rawHeaders,
  headers,
  url = '',
}: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'url'>): InvalidError | undefined {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const twice = SINGLE.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) return ambiguous(`it has the header ${twice} more than once`);
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return ambiguous('of transfer encodings chunked alone is served');
  }
  // RFC 9112, section 3.2.2: an absolute address decides, whatever the header says.
  if (url !== '*' && !isPath(url) && URL.parse(url)?.host !== URL.parse(`http://${headers.host}`)?.host) {
    return ambiguous('its address and its header host name different servers');
  }
  return undefined;
}

/** Two slashes in front would be resolved as an address. */
const isPath = (url: string): boolean => url.startsWith('/') && !url.startsWith('//');

const ambiguous = (what: string): InvalidError =>
  new InvalidError('request-ambiguous', `The request can be understood in two ways: ${what}.`);
