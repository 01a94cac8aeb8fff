/**
 * Owns which requests over HTTP are heard at all: those to a name by which the server is reached (a page that made its own name point here
 * sends that name), from no page of another origin, and that can be understood in one way. Who asks is not judged here. Pure.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { AccessError, InvalidError } from '@tidemark/core';

export interface HttpGuard {
  /** Names by which the server is reached, without port. Absent: any. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of web pages that may speak to it beside its own, such as `https://example.com`. */
  readonly origins?: readonly string[] | undefined;
}

/** Names by which a server on loopback is reached. */
export const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'] as const;

/** Whether nobody but this machine gets to a server there. An address of version 6 may be in brackets, as addresses of pages have it. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host);

/** `AccessError` (`host-refused`, `origin-refused`), which says nothing of what would have been right; undefined: it may be heard. */
export function refusalOf(headers: IncomingHttpHeaders, { hosts, origins = [] }: HttpGuard): AccessError | undefined {
  const host = (headers.host ?? '').toLowerCase();
  if (hosts !== undefined && !holds(hosts, nameOf(host))) {
    return new AccessError('host-refused', 'This host is not served here (Host).');
  }
  // Pages of other origins can't read what is answered, since nothing allows them to; nor may they have anything done.
  const { origin } = headers;
  if (origin === undefined || URL.parse(origin)?.host === host || holds(origins, origin.toLowerCase()))
    return undefined;
  return new AccessError('origin-refused', 'Pages of this origin are not served here (Origin).');
}

const holds = (texts: readonly string[], text: string): boolean => texts.some((one) => one.toLowerCase() === text);

/** Without its port; empty where it is none. */
const nameOf = (host: string): string => /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';

/** Of these one alone may stand in a request: of two, whoever stands before the server may go by the other. */
const SINGLE = ['host', 'authorization', 'content-length', 'content-type', 'transfer-encoding'];

/** `InvalidError` (`request-ambiguous`) of what two servers could understand in two ways; undefined: nothing. */
export function ambiguityOf({
  rawHeaders,
  headers,
  url = '',
}: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'url'>): InvalidError | undefined {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const twice = SINGLE.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) return ambiguous(`the header ${twice} stands in it more than once`);
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return ambiguous('of transfer encodings chunked alone is served');
  }
  // RFC 9112, section 3.2.2: the address has it where it is a whole one, whatever the header says.
  if (url !== '*' && !isPath(url) && URL.parse(url)?.host !== URL.parse(`http://${headers.host}`)?.host) {
    return ambiguous('its address and its header host name different servers');
  }
  return undefined;
}

/** Two slashes in front would be an address to whoever resolves it. */
const isPath = (url: string): boolean => url.startsWith('/') && !url.startsWith('//');

const ambiguous = (what: string): InvalidError =>
  new InvalidError('request-ambiguous', `The request can be understood in two ways: ${what}.`);
