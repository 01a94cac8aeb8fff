/** Owns the errors of a caller who isn't let in: three codes, which never say which part of the credentials was wrong, nor repeat any of them. */

import { AccessError } from '@tidemark/core';

export const credentialsMissing = (): AccessError =>
  new AccessError(
    'credentials-missing',
    'Authenticate: send the header `Authorization: Bearer …` with an API key (tmk_…) or a token of the configured issuer.',
  );

/** `cause` stays inside the process; it holds no part of the credentials either. */
export const credentialsInvalid = (why?: string): AccessError =>
  new AccessError(
    'credentials-invalid',
    'These credentials are not accepted. Send `Authorization: Bearer …` with a valid API key, or with a token that the configured issuer made for this service.',
    why === undefined ? {} : { cause: new AccessError('credentials-invalid', why) },
  );

export const credentialsExpired = (): AccessError =>
  new AccessError('credentials-expired', 'These credentials have expired. Get new ones.');
