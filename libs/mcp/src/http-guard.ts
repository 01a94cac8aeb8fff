/**
 * Owns who may speak to the server over HTTP: requests for a known host (a page that made its own name point here is none),
 * from no foreign origin, and with the token where there is one. Pure.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface GuardOptions {
  /** Names by which the server is reached, without port. */
  readonly hosts: readonly string[];
  /** Origins of web pages that may speak to it, such as `https://example.com`. */
  readonly origins: readonly string[];
  /** Undefined: everybody on this machine may. */
  readonly token: string | undefined;
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

export const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'] as const;

/** Undefined: it may pass. Says nothing of what would have been right. */
export function refusalOf(headers: IncomingHttpHeaders, { hosts, origins, token }: GuardOptions): Refusal | undefined {
  const { host, origin, authorization } = headers;
  if (!hosts.includes(hostName(host))) return { status: 403, message: 'This host is not served here (Host).' };
  if (origin !== undefined && !origins.includes(origin.toLowerCase())) {
    return { status: 403, message: 'Pages of this origin are not served here (Origin).' };
  }
  if (token === undefined || isToken(authorization, token)) return undefined;
  return { status: 401, message: 'Show the token of this server: Authorization: Bearer …' };
}

/** Without its port; empty where it is none. */
function hostName(host: string | undefined): string {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec((host ?? '').toLowerCase())?.[1] ?? '';
}

/** In constant time: digests have one length, whatever was shown. */
function isToken(authorization: string | undefined, token: string): boolean {
  const [, shown = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(digest(shown), digest(token));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
