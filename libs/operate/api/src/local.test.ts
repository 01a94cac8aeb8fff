/** Who asks through the socket of a folder. */

import type { Credentials } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, ownerAuthenticator } from './local.ts';

const asked = (authorization: string | undefined) => ownerAuthenticator.authenticate({ authorization } as Credentials);

it('is its owner, by the name that they give', async () => {
  expect(await asked(undefined)).toEqual(LOCAL_PRINCIPAL);
  expect(await asked(`Bearer ${encodeURIComponent('Ana Ñ')}`)).toEqual({ ...LOCAL_PRINCIPAL, subject: 'Ana Ñ' });
  await expect(asked('Bearer %FF')).rejects.toMatchObject({ code: 'credentials-invalid' });
});
