/**
 * Owns who is let in: who the caller is, whether it may, and whether it is not too much; by principal, by address, and for requests without
 * credentials.
 *
 * Wrong credentials from an address lock out no caller who showed good ones before, from any address. Unknown credentials are only judged
 * at a low rate once an address has shown too many wrong ones.
 */

import { AccessError, keepLast, LimitError } from '@tidemark/core';
import { type AuditTrail, type Authenticator, type Credentials, type Digest, mayDo } from '@tidemark/ports';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { noteRefused } from './audited.ts';
import { RATE_MAX_COUNT } from './limits.ts';
import type { AnyRoute } from './route.ts';

/** Bytes of a body or of what is read, with the values in it (`PARSED_VALUE_BYTES`), that count as one more request. */
const RATE_BODY_BYTES = 128 * 1_024;
/** Refused credentials from one address in a window. */
const REFUSED_MAX_COUNT = 120;
/** Addresses that are remembered for that, and digests of good credentials. */
const REFUSED_KEPT_MAX_COUNT = 10_000;
const GOOD_KEPT_MAX_COUNT = 10_000;
/** Judgements of unknown credentials in so many milliseconds, for an address that has shown too many wrong ones. */
const UNKNOWN_JUDGED_MAX_COUNT = 10;
const UNKNOWN_JUDGED_WINDOW_MS = 1_000;
/** Requests from one address in a window that need no credentials: the console's files, the document, the liveness probe. */
const OPEN_MAX_COUNT = 6_000;

export interface Admission {
  admit(request: FastifyRequest, route: Pick<AnyRoute, 'name' | 'right'>): Promise<void>;
  /** Counts its body as further requests, so that the next ones may be too many. */
  charge(request: FastifyRequest, bytes: number): Promise<void>;
}

export interface AdmissionOptions {
  readonly authenticator: Authenticator;
  readonly audit?: AuditTrail | undefined;
  readonly digest: Digest;
  /** Requests of one principal in a minute. */
  readonly rateMaxCount?: number | undefined;
}

/** Its limits are those of the plugin that the server has registered. */
export function admission(app: FastifyInstance, options: AdmissionOptions): Admission {
  const { audit, rateMaxCount = RATE_MAX_COUNT } = options;
  const judge = judging(app, options);
  const ofPrincipal = app.createRateLimit({
    max: rateMaxCount,
    keyGenerator: ({ principal }) => `${principal.kind} ${principal.tenant ?? ''} ${principal.subject}`,
  });
  return {
    async admit(request, route) {
      const { right } = route;
      await judge(request);
      const asked = await ofPrincipal(request);
      if (isOver(asked)) throw tooMany(asked);
      if (!mayDo(request.principal, right)) {
        noteRefused(audit, { route, principal: request.principal, params: request.params }, 'right-missing');
        throw new AccessError(
          'right-missing',
          `This needs the right '${right}', which ${request.principal.subject} does not have.`,
        );
      }
    },
    async charge(request, bytes) {
      for (let left = bytes; left >= RATE_BODY_BYTES; left -= RATE_BODY_BYTES) await ofPrincipal(request);
    },
  };
}

/** Identifies the caller. Judging credentials may cost a signature, so an address that shows too many wrong ones gets few judgements. */
function judging(app: FastifyInstance, { authenticator, digest }: AdmissionOptions) {
  const ofRefused = app.createRateLimit({ max: REFUSED_MAX_COUNT, keyGenerator: ({ ip }) => ip });
  const ofUnknown = app.createRateLimit({
    ...{ max: UNKNOWN_JUDGED_MAX_COUNT, timeWindow: UNKNOWN_JUDGED_WINDOW_MS },
    keyGenerator: ({ ip }) => ip,
  });
  const good = new Map<string, true>();
  /** Until when addresses are over the limit, on the monotonic clock. */
  const over = new Map<string, number>();
  return async (request: FastifyRequest): Promise<void> => {
    const credentials = credentialsOf(request);
    const shown = digest.sha256(credentials.authorization ?? '');
    const leftMs = (over.get(request.ip) ?? 0) - performance.now();
    if (leftMs > 0 && good.get(shown) === undefined && isOver(await ofUnknown(request))) {
      throw tooMany({ isAllowed: false, ttlInSeconds: Math.ceil(leftMs / 1_000) });
    }
    try {
      request.principal = await authenticator.authenticate(credentials);
      keepLast(good, shown, true, GOOD_KEPT_MAX_COUNT);
    } catch (error) {
      if (!(error instanceof AccessError)) throw error;
      good.delete(shown);
      const refused: Limited = await ofRefused(request);
      if (!isOver(refused)) throw error;
      keepLast(over, request.ip, performance.now() + (refused.ttlInSeconds ?? 1) * 1_000, REFUSED_KEPT_MAX_COUNT);
      throw tooMany(refused);
    }
  };
}

/** Bounds requests without credentials by address. The liveness probe has a bound of its own, so that others' floods don't affect it. */
export function limitOpen(app: FastifyInstance, isAdmitted: (path: string) => boolean): void {
  const ofOpen = app.createRateLimit({
    max: OPEN_MAX_COUNT,
    keyGenerator: ({ ip, routeOptions: { url } }) => `${url === '/healthz' ? url : 'open'} ${ip}`,
  });
  app.addHook('onRequest', async (request) => {
    if (isAdmitted(request.routeOptions.url ?? '')) return;
    const asked = await ofOpen(request);
    if (isOver(asked)) throw tooMany(asked);
  });
}

export const credentialsOf = ({ headers: { authorization } }: FastifyRequest): Credentials => ({ authorization });

interface Limited {
  readonly isAllowed: boolean;
  readonly isExceeded?: boolean;
  readonly ttlInSeconds?: number;
}
const isOver = (limited: Limited): boolean => !limited.isAllowed && limited.isExceeded === true;
const tooMany = ({ ttlInSeconds }: Limited): LimitError =>
  new LimitError('rate-exceeded', 'Too many requests; try again later.', {
    retryAfterMs: (ttlInSeconds ?? 1) * 1_000,
  });
