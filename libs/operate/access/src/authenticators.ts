/** Owns choosing among several authenticators the one that a caller's credentials fit. */

import type { AccessChanged, Authenticator, Credentials, Principal } from '@tidemark/ports';
import { credentialsInvalid, credentialsMissing } from './refusals.ts';

export interface Taking extends Authenticator {
  /** Whether the credentials are meant for it; the one that claims them judges them alone. */
  takes(credentials: Credentials): boolean;
}

export class Authenticators implements Authenticator {
  readonly #all: readonly Taking[];

  constructor(all: readonly Taking[]) {
    this.#all = all;
  }

  async authenticate(credentials: Credentials): Promise<Principal> {
    if (credentials.authorization === undefined || credentials.authorization === '') throw credentialsMissing();
    const one = this.#all.find((authenticator) => authenticator.takes(credentials));
    if (one === undefined) throw credentialsInvalid('no way of this kind is configured');
    return one.authenticate(credentials);
  }

  forget(changed: AccessChanged): void {
    for (const one of this.#all) one.forget?.(changed);
  }
}
