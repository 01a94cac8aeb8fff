/** Owns who asks where nobody needs to say so: the owner of an embedded folder, over loopback. */

import type { Authenticator, Principal } from '@tidemark/ports';

export const LOCAL_PRINCIPAL: Principal = { subject: 'local', tenant: null, roles: ['admin'], kind: 'local' };

/** Everybody is the owner: for a server that listens on loopback alone, and to its own name alone. */
export const localAuthenticator: Authenticator = { authenticate: async () => LOCAL_PRINCIPAL };
