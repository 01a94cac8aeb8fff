/** Owns `tidemark admin access create-key`: the key that lets the first caller in. */

import { DEFAULT_TENANT, tenantId } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { type AdminOptions, atHost } from '../place/admin-place.ts';
import { hostPlace, ownName, within } from '../place/place.ts';
import type { KeyOptions } from '../program/key-options.ts';
import type { Session } from '../session.ts';
import { CREATE_KEY, keyBody, reportKey } from './access.ts';

/** Before anybody can log in: on the servers themselves, or in a folder. */
export async function createFirstKey(session: Session, options: KeyOptions & AdminOptions): Promise<number> {
  const tenant = options.allTenants === true ? undefined : tenantId(options.tenant ?? DEFAULT_TENANT);
  const body = keyBody(options);
  const changed = { action: 'createKey', target: options.name, tenant };
  const made = await atHost(
    session,
    options,
    async (host) => {
      const how = { name: `admin ${ownName(session.env)}`, shown: 'here', isIdle: false, definitions: [] };
      const place = await hostPlace(host, how);
      try {
        return await within(place, () => place.client.ask(CREATE_KEY, { body }));
      } finally {
        await place.close();
      }
    },
    changed,
  );
  reportKey(session, made);
  return EXIT.ok;
}
