/** Owns judging the credentials of a stream's follower again periodically, so that a revoked key or an expired token ends the stream. */

import { AccessError } from '@tidemark/core';
import { type Authenticator, type Credentials, mayDo, type Principal, RIGHTS } from '@tidemark/ports';
import type { EventSink } from './events/sink.ts';

/** Period at which a follower is judged again, in milliseconds: a revoked key or an expired token may keep a stream for so long. */
export const FOLLOWER_JUDGED_MS = 10_000;

export interface AuthorisedFollower {
  readonly authenticator: Authenticator;
  readonly credentials: Credentials;
  readonly principal: Principal;
  readonly sink: Pick<EventSink, 'closed' | 'fail'>;
}

/** Runs until the connection is gone. While nobody can judge the credentials the stream continues: they were good at its start. */
export function reauthorise({ authenticator, credentials, principal, sink }: AuthorisedFollower): void {
  const timer = setInterval(() => {
    authenticator.authenticate(credentials).then(
      (now) => {
        if (!isSame(now, principal)) sink.fail(changed(), undefined);
      },
      (error: unknown) => {
        if (error instanceof AccessError) sink.fail(error, undefined);
      },
    );
  }, FOLLOWER_JUDGED_MS);
  timer.unref();
  sink.closed.addEventListener('abort', () => clearInterval(timer), { once: true });
}

const isSame = (now: Principal, before: Principal): boolean =>
  now.subject === before.subject &&
  now.tenant === before.tenant &&
  RIGHTS.every((right) => mayDo(now, right) === mayDo(before, right));

const changed = (): AccessError => new AccessError('rights-changed', 'Your rights have changed. Follow again.');
