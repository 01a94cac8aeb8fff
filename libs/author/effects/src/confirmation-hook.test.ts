/** A web hook's sender learns whether to continue, to repeat, or to stop; and gets 2xx only when the confirmation counts. */

import { ConflictError, InvalidError, UnavailableError } from '@tidemark/sdk';
import { describe, expect, test } from 'vitest';
import { confirmationHook, HookRefusedError } from './confirmation-hook.ts';

const request = (body: unknown): Request =>
  new Request('http://localhost/hook', { method: 'POST', body: JSON.stringify(body) });
const shipped = { workflow: 'w', token: 'r-1', response: { parcel: 7 } };

function hook(confirm: (...given: unknown[]) => Promise<void>): (body: unknown) => Promise<Response> {
  const handle = confirmationHook({
    confirm,
    read: async (received) => {
      const body = (await received.json()) as typeof shipped & { signature?: string };
      if (body.signature === 'forged') throw new HookRefusedError();
      if (typeof body.token !== 'string') throw new Error('no token');
      return body;
    },
  });
  return (body) => handle(request(body));
}

describe('a confirmation hook', () => {
  test('confirms what it was sent, and says so', async () => {
    const given: unknown[][] = [];
    const send = hook(async (...args) => void given.push(args));
    expect((await send(shipped)).status).toBe(204);
    expect((await send({ workflow: 'w', token: 'r-2', error: 'sold out' })).status).toBe(204);
    expect(given).toEqual([
      ['w', 'r-1', { response: { parcel: 7 } }],
      ['w', 'r-2', { error: 'sold out' }],
    ]);
  });

  test.each([
    ['overtakes its effect', new InvalidError('token-unknown', 'none'), 503, '2'],
    ['comes while servers are away', new UnavailableError('log-unavailable', 'away'), 503, '2'],
    ['meets a bug of ours', new Error('secret'), 503, '2'],
    ['says otherwise than what stands', new ConflictError('already-confirmed', 'done'), 409, null],
    ['is for a workflow that nobody knows', new InvalidError('workflow-unknown', 'none'), 404, null],
    ['has a response that the effect does not take', new InvalidError('effect-response-invalid', 'cents'), 400, null],
  ])('that %s is not taken', async (_, error, status, retryAfter) => {
    const answered = await hook(() => Promise.reject(error))(shipped);
    expect(answered.status).toBe(status);
    expect(answered.headers.get('retry-after')).toBe(retryAfter);
    expect(await answered.text()).not.toContain('secret');
  });

  test('confirms nothing when the request is forged, or unreadable', async () => {
    let count = 0;
    const send = hook(async () => void count++);
    expect((await send({ ...shipped, signature: 'forged' })).status).toBe(401);
    expect((await send({ workflow: 'w' })).status).toBe(400);
    expect(count).toBe(0);
  });

  test('takes what is not about us without effect', async () => {
    const handle = confirmationHook({ confirm: () => Promise.reject(new Error('never')), read: () => undefined });
    expect((await handle(request({}))).status).toBe(204);
  });
});
