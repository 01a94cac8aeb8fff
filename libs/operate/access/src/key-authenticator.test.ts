/** API keys as callers show them: what is let in, what is refused and how it is told, how soon a change counts, what it costs. */

import { type TidemarkError, UnavailableError } from '@tidemark/core';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RecordsInMemory } from './access-fixture.ts';
import { ActiveTenants } from './active-tenants.ts';
import { apiKeyText, isSameHash, newApiKey, parseApiKey } from './api-key.ts';
import { refuseCredentialsInQuery } from './bearer.ts';
import { KeyAuthenticator } from './key-authenticator.ts';
import { KEY_AGE_MAX_MS, KEY_USED_PERIOD_MS } from './limits.ts';

describe('an API key', () => {
  let clock: SimulatedClock;
  let records: RecordsInMemory;
  let keys: KeyAuthenticator;
  let text: string;
  beforeEach(() => {
    clock = new SimulatedClock();
    records = new RecordsInMemory();
    keys = new KeyAuthenticator({ records, clock, tenants: new ActiveTenants({ records, clock }) });
    text = apiKeyText(newApiKey());
  });

  const show = (authorization: string | undefined) => keys.authenticate({ authorization });
  const bearer = (token: string) => show(`Bearer ${token}`);
  const refused = { name: 'AccessError', code: 'credentials-invalid' };

  it('tells whose it is and what it may do', async () => {
    const { id } = records.set(text);
    expect(await bearer(text)).toEqual({ subject: `key:${id}`, tenant: 'acme', roles: ['operator'], kind: 'key' });
    expect(await show(`bearer   ${text}`)).toMatchObject({ tenant: 'acme' });
  });

  it('is another one each time, and 256 random bits', () => {
    const made = new Set(Array.from({ length: 500 }, () => newApiKey().secret));
    expect(made.size).toBe(500);
    expect(new Set([...made].join('')).size).toBe(32);
    expect([...made][0]!.length * 5).toBeGreaterThanOrEqual(256);
  });

  it('is refused in the same words whatever is wrong with it', async () => {
    const known = records.set(text);
    const other = newApiKey();
    const wrongSecret = apiKeyText({ id: known.id, secret: other.secret });
    const messages = new Set<string>();
    const wrong = [
      apiKeyText(other),
      wrongSecret,
      text.slice(0, -1),
      `${text}a`,
      text.toUpperCase(),
      `${text.slice(0, 10)}\u0000${text.slice(11)}`,
      "tmk_' or 1=1 --_x",
      'tmk_',
      'tmk__',
      `tmk_../../etc_${'a'.repeat(52)}`,
      `tmk_${'a'.repeat(100_000)}`,
    ];
    for (const one of wrong) {
      const error = await bearer(one).then(
        () => undefined,
        (reason: unknown) => reason as TidemarkError,
      );
      expect(error, one.slice(0, 60)).toMatchObject(refused);
      messages.add(error!.message);
    }
    records.all.set(known.id, { ...known, revoked: { by: 'ana', why: 'lost', atMs: 0 } });
    keys.forget({ key: known.id });
    const revoked: unknown = await bearer(text).catch((reason: unknown) => reason);
    expect(revoked).toMatchObject(refused);
    messages.add((revoked as TidemarkError).message);
    expect(messages.size).toBe(1);
  });

  it.each([
    ['nothing', undefined, 'credentials-missing'],
    ['an empty header', '', 'credentials-missing'],
    ['another scheme', 'Basic dXNlcjpwYXNz', 'credentials-invalid'],
    ['two tokens', 'Bearer a b', 'credentials-invalid'],
    ['a huge header', `Bearer ${'a'.repeat(5_000_000)}`, 'credentials-invalid'],
    ['spaces without end', `Bearer ${' '.repeat(1_000_000)}x y`, 'credentials-invalid'],
    ['a NUL', 'Bearer a\u0000', 'credentials-invalid'],
  ])('%s is no key, said at once', async (_what, header, code) => {
    const before = process.cpuUsage();
    await expect(show(header)).rejects.toMatchObject({ code });
    // In microseconds. Work that grows with the square of the header's length takes minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
    expect(records.pollCount).toBe(0);
  });

  it('that has expired is told apart only to who has its secret', async () => {
    const { id } = records.set(text, { expiresMs: clock.nowMs() + 1_000 });
    await bearer(text);
    clock.jump(1_000);
    await expect(bearer(text)).rejects.toMatchObject({ code: 'credentials-expired' });
    await expect(bearer(apiKeyText({ id, secret: newApiKey().secret }))).rejects.toMatchObject(refused);
  });

  it('is looked up once in a while, and a revocation counts after that time', async () => {
    const key = records.set(text);
    await Promise.all(Array.from({ length: 20 }, () => bearer(text)));
    expect(records.pollCount).toBe(1);
    records.all.set(key.id, { ...key, revoked: { by: 'ana', why: 'lost', atMs: clock.nowMs() } });
    clock.jump(KEY_AGE_MAX_MS - 1);
    await bearer(text);
    clock.jump(1);
    await expect(bearer(text)).rejects.toMatchObject(refused);
    expect(records.pollCount).toBe(2);
  });

  it('of a suspended tenant is refused, and let in again after', async () => {
    records.set(text);
    const suspended = { by: 'ana', why: 'unpaid', atMs: 0 };
    records.tenants.set('acme', { tenant: 'acme' as never, createdMs: 0, by: 'ana', suspended });
    await expect(bearer(text)).rejects.toMatchObject(refused);
    records.tenants.set('acme', { tenant: 'acme' as never, createdMs: 0, by: 'ana', suspended: null });
    clock.jump(KEY_AGE_MAX_MS);
    expect(await bearer(text)).toMatchObject({ tenant: 'acme' });
  });

  it('isn’t called wrong in the moment in which lost rows come back (K3)', async () => {
    // Its row comes between the two questions: whether it is there, and whether any is.
    vi.spyOn(records, 'areKnown').mockImplementationOnce(async () => {
      records.set(text);
      return true;
    });
    expect(await bearer(text)).toMatchObject({ tenant: 'acme' });
  });

  it('is neither wrong nor let in by what was known long ago while it can’t be looked up (K3)', async () => {
    records.set(text);
    await bearer(text);
    clock.jump(KEY_AGE_MAX_MS);
    records.failure = new UnavailableError('store-unavailable', 'gone');
    await expect(bearer(text)).rejects.toMatchObject({ code: 'store-unavailable' });
    // Not remembered: it is there again.
    records.failure = undefined;
    expect(await bearer(text)).toMatchObject({ tenant: 'acme' });
    records.all.clear();
    records.isKnown = false;
    clock.jump(KEY_AGE_MAX_MS);
    await expect(bearer(text)).rejects.toMatchObject({ name: 'UnavailableError', code: 'keys-unknown' });
    // The control: with rows that know of keys it is wrong.
    records.isKnown = true;
    await expect(bearer(text)).rejects.toMatchObject(refused);
  });

  it('guessed by the thousand pushes out none that is there', async () => {
    records.set(text);
    await bearer(text);
    for (let count = 0; count < 3_000; count++) await bearer(apiKeyText(newApiKey())).catch(() => {});
    const before = records.pollCount;
    await bearer(text);
    expect(records.pollCount).toBe(before);
  });

  it('that is used is noted later, once, and again when that failed', async () => {
    const { id } = records.set(text);
    for (let count = 0; count < 5; count++) await bearer(text);
    expect(records.used).toEqual([]);
    records.failure = new UnavailableError('log-unavailable', 'gone');
    clock.jump(KEY_USED_PERIOD_MS);
    await new Promise(setImmediate);
    records.failure = undefined;
    clock.jump(7);
    await bearer(text);
    await keys.close();
    expect(records.used).toEqual([[id, clock.nowMs()]]);
  });

  it('is nowhere in what is told of a refusal', async () => {
    const { secret } = parseApiKey(text)!;
    const reported: string[] = [];
    const logged = vi.spyOn(console, 'error').mockImplementation((...said) => void reported.push(JSON.stringify(said)));
    for (let error: unknown = await bearer(text).catch((reason: unknown) => reason); error instanceof Error; ) {
      reported.push(error.message, error.stack ?? '', JSON.stringify((error as TidemarkError).details));
      error = error.cause;
    }
    logged.mockRestore();
    expect(reported.join('\n')).not.toContain(secret);
    expect(reported.length).toBeGreaterThan(2);
  });

  it('is compared in a time that tells nothing', () => {
    const hash = 'ab'.repeat(32);
    expect(isSameHash(hash, hash)).toBe(true);
    expect(isSameHash(hash, `${hash.slice(0, -1)}c`)).toBe(false);
    expect(isSameHash(hash, 'ab')).toBe(false);
  });

  it.each([
    ['access_token', 'x'],
    ['api_key', 'x'],
    ['Authorization', 'Bearer x'],
    ['anything', 'tmk_aaaa'],
    ['q', 'eyJhbGciOiJub25lIn0.e30.'],
  ])('in an address (%s) is refused, without its value', (name, value) => {
    let error: unknown;
    try {
      refuseCredentialsInQuery([[name, value]]);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ code: 'credentials-in-query' });
    expect((error as Error).message).not.toContain(value === 'x' ? '=x' : value);
  });

  it('names in addresses that mean something else pass', () => {
    refuseCredentialsInQuery(new URLSearchParams('status=open&text=the+token+was+lost&key=k1&after=eyJ'));
  });
});
