/** Owns who the caller is where nobody needs credentials, and where that is so: the owner of an embedded folder, over loopback. */

import { AccessError } from '@tidemark/core';
import type { Authenticator, Principal } from '@tidemark/ports';

export { OWN_VERSION } from './version.ts';

/** Addresses that nobody resolves. */
export const LOCAL_URL = 'http://folder';

export const LOCAL_PRINCIPAL: Principal = { subject: 'local', tenant: null, roles: ['admin'], kind: 'local' };

/**
 * For a socket that its owner alone can open: every caller is the owner, under the name given as the token (percent-encoded), so that their
 * decisions have a name.
 */
export const ownerAuthenticator: Authenticator = {
  authenticate: async ({ authorization }) => {
    const [, name] = /^Bearer (\S+)$/i.exec(authorization ?? '') ?? [];
    if (name === undefined) return LOCAL_PRINCIPAL;
    try {
      return { ...LOCAL_PRINCIPAL, subject: decodeURIComponent(name) };
    } catch {
      throw new AccessError(
        'credentials-invalid',
        'The name of the caller (the token of Authorization) is not percent-encoded.',
      );
    }
  },
};

/** Every caller is the owner: for a server that listens on loopback alone, and to its own name alone. */
export const localAuthenticator: Authenticator = { authenticate: async () => LOCAL_PRINCIPAL };
