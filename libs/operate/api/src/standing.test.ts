/** Who follows is judged again: a revoked key or fewer rights end the stream, an issuer that is away does not. */

import { AccessError, type TenantId, UnavailableError } from '@tidemark/core';
import type { Principal } from '@tidemark/ports';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FOLLOWER_JUDGED_MS, reauthorise } from './standing.ts';

const ANA: Principal = { subject: 'key:a', tenant: 'acme' as TenantId, roles: ['operator'], kind: 'key' };

let left: AbortController;
let failures: unknown[];
let answer: () => Promise<Principal>;
let askedCount: number;
beforeEach(() => {
  vi.useFakeTimers();
  left = new AbortController();
  failures = [];
  askedCount = 0;
  answer = async () => ANA;
  reauthorise({
    authenticator: {
      authenticate: () => {
        askedCount++;
        return answer();
      },
    },
    credentials: { authorization: 'Bearer x' },
    principal: ANA,
    sink: { closed: left.signal, fail: (error) => void failures.push(error) },
  });
});
afterEach(() => {
  left.abort();
  vi.useRealTimers();
});

it('goes on while nothing has changed, and is not judged any more once the connection is gone', async () => {
  await vi.advanceTimersByTimeAsync(3 * FOLLOWER_JUDGED_MS);
  expect([askedCount, failures]).toEqual([3, []]);
  left.abort();
  await vi.advanceTimersByTimeAsync(3 * FOLLOWER_JUDGED_MS);
  expect(askedCount).toBe(3);
});

it.each<[string, () => Promise<Principal>, string]>([
  ['the key was revoked', () => Promise.reject(new AccessError('credentials-invalid', 'no')), 'credentials-invalid'],
  ['content may no longer be read', async () => ({ ...ANA, roles: ['viewer'] }), 'rights-changed'],
  ['the tenant is another', async () => ({ ...ANA, tenant: 'globex' as TenantId }), 'rights-changed'],
])('ends when %s', async (_what, changed, code) => {
  answer = changed;
  await vi.advanceTimersByTimeAsync(FOLLOWER_JUDGED_MS);
  expect(failures).toMatchObject([{ name: 'AccessError', code }]);
});

it('goes on while nobody can say who it is', async () => {
  answer = () => Promise.reject(new UnavailableError('issuer-unavailable', 'gone'));
  await vi.advanceTimersByTimeAsync(FOLLOWER_JUDGED_MS);
  expect(failures).toEqual([]);
});
