/** Owns whether a client shows the token of the server over HTTP. Pure. */

import { createHash, timingSafeEqual } from 'node:crypto';

/** In constant time: digests have one length, whatever was shown. */
export function isShown(token: string, authorization: string | undefined): boolean {
  const [, shown = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(digest(shown), digest(token));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
