/**
 * Owns the contract of KeyProvider as tests; every adapter runs it. `open` gives a provider with a key of its own for each test. Errors are
 * searched for secrets to their last member.
 */

import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { tenantId, workflowId } from '@tidemark/core';
import { DATA_KEY_BYTES, type KeyContext, type KeyProvider, type WrappedKey } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

export interface OpenedKeyProvider {
  readonly keys: KeyProvider;
  /** The same keys as another process would open them. */
  again(): Promise<KeyProvider>;
  /** Makes another key wrap from now on; gives the provider of a process that knows it. */
  rotate(): Promise<KeyProvider>;
  /** A key that a provider of the same kind wrapped with a key that this one lacks, named as one of this one's. */
  foreign(dataKey: Uint8Array, context: KeyContext): Promise<WrappedKey>;
  /** The wrapped key with other bytes in it, still in the provider's form. */
  damaged(key: WrappedKey): WrappedKey;
  /** A provider whose server or file is gone; absent: it has neither. */
  away?(): Promise<KeyProvider>;
  /** What no error may contain: tokens, secret keys. */
  secrets(): readonly string[];
  close(): Promise<void>;
}

const harbour: KeyContext = { tenant: tenantId('harbour'), workflow: workflowId('unload "7/ß"\n') };
const others: readonly (readonly [string, KeyContext])[] = [
  ['another workflow', { ...harbour, workflow: workflowId('load 7') }],
  ['another tenant', { ...harbour, tenant: tenantId('shipyard') }],
  ['the two exchanged', { tenant: tenantId(harbour.workflow), workflow: workflowId(harbour.tenant) }],
  [
    'the same characters, parted elsewhere',
    { tenant: tenantId('harbou'), workflow: workflowId(`r${harbour.workflow}`) },
  ],
];

export function keyProviderContract(name: string, open: () => Promise<OpenedKeyProvider>): void {
  describe(`key provider contract: ${name}`, () => {
    let opened: OpenedKeyProvider;
    let keys: KeyProvider;
    let dataKey: Uint8Array;
    beforeEach(async () => {
      opened = await open();
      keys = opened.keys;
      dataKey = new Uint8Array(randomBytes(DATA_KEY_BYTES));
    });
    afterEach(() => opened.close());

    /** The error of the call, which contained no secret. */
    const refusal = async (call: Promise<unknown>): Promise<Error> => {
      const error = await call.then(
        () => undefined,
        (thrown: unknown) => thrown as Error,
      );
      expect(error).toBeInstanceOf(Error);
      expect(found(error!, [...opened.secrets(), ...spellings(dataKey)])).toEqual([]);
      return error!;
    };
    const wrong = { name: 'CorruptError', code: 'key-wrong' };

    test('what was wrapped is unwrapped, also by another process', async () => {
      const wrapped = await keys.wrap(dataKey, harbour);
      expect(wrapped).toMatchObject({ provider: keys.name, wrappedBy: await keys.current() });
      expect(Buffer.compare(await keys.unwrap(wrapped, harbour), dataKey)).toBe(0);
      const other = await opened.again();
      expect(Buffer.compare(await other.unwrap(wrapped, harbour), dataKey)).toBe(0);
      await other.close();
    });

    test('what is wrapped survives JSON, and the bytes are not in it', async () => {
      const text = JSON.stringify(await keys.wrap(dataKey, harbour));
      for (const spelling of spellings(dataKey)) expect(text).not.toContain(spelling);
      expect(Buffer.compare(await keys.unwrap(JSON.parse(text), harbour), dataKey)).toBe(0);
    });

    test('wrapped twice, it is another text', async () => {
      const [first, second] = await Promise.all([keys.wrap(dataKey, harbour), keys.wrap(dataKey, harbour)]);
      expect(first.wrapped).not.toBe(second.wrapped);
      expect(Buffer.compare(await keys.unwrap(second, harbour), await keys.unwrap(first, harbour))).toBe(0);
    });

    test('the unwrapped bytes are the own of whoever asked', async () => {
      const wrapped = await keys.wrap(dataKey, harbour);
      (await keys.unwrap(wrapped, harbour)).fill(0);
      expect(Buffer.compare(await keys.unwrap(wrapped, harbour), dataKey)).toBe(0);
    });

    test.each(others)('for %s it is refused', async (_, context) => {
      const wrapped = await keys.wrap(dataKey, harbour);
      expect(await refusal(keys.unwrap(wrapped, context))).toMatchObject({
        ...wrong,
        details: { ...context, provider: keys.name, wrappedBy: wrapped.wrappedBy },
      });
    });

    test('changed bytes are refused, and what is no wrapped key at all', async () => {
      const wrapped = await keys.wrap(dataKey, harbour);
      const texts = ['', 'nonsense', `${wrapped.wrapped}AAAA`, wrapped.wrapped.slice(0, -8)];
      const changed = [opened.damaged(wrapped), ...texts.map((text) => ({ ...wrapped, wrapped: text }))];
      for (const key of changed) expect(await refusal(keys.unwrap(key, harbour))).toMatchObject(wrong);
    });

    test("another provider's key is refused, and one of another key", async () => {
      const wrapped = await keys.wrap(dataKey, harbour);
      const elsewhere = { ...wrapped, provider: 'elsewhere' };
      expect(await refusal(keys.unwrap(elsewhere, harbour))).toMatchObject(wrong);
      const foreign = await opened.foreign(dataKey, harbour);
      const error = await refusal(keys.unwrap(foreign, harbour));
      expect(error).toMatchObject({ code: expect.stringMatching(/^key-(wrong|refused)$/) });
    });

    test('after a rotation the old key unwraps, the new one wraps, and what is old can be told', async () => {
      const old = await keys.wrap(dataKey, harbour);
      const rotated = await opened.rotate();
      expect(await rotated.current()).not.toBe(old.wrappedBy);
      expect(Buffer.compare(await rotated.unwrap(old, harbour), dataKey)).toBe(0);
      const rewrapped = await rotated.wrap(dataKey, harbour);
      expect(rewrapped.wrappedBy).toBe(await rotated.current());
      expect(Buffer.compare(await rotated.unwrap(rewrapped, harbour), dataKey)).toBe(0);
      // A process from before the rotation gets what others wrap by now.
      expect(Buffer.compare(await keys.unwrap(rewrapped, harbour), dataKey)).toBe(0);
      await rotated.close();
    });

    test('when it is away, it says so, and nothing else', async (context) => {
      if (opened.away === undefined) return context.skip('there is nothing to go away');
      const wrapped = await keys.wrap(dataKey, harbour);
      const away = await opened.away();
      for (const call of [
        () => away.wrap(dataKey, harbour),
        () => away.unwrap(wrapped, harbour),
        () => away.current(),
      ]) {
        expect(await refusal(call())).toMatchObject({ name: expect.stringMatching(/^(Unavailable|Config)Error$/) });
      }
      await away.close();
    });

    test('the search for secrets finds what there is', () => {
      const reported = new Error('x', { cause: { deep: { bytes: dataKey } } });
      expect(found(reported, spellings(dataKey))).not.toEqual([]);
      const hidden = Object.defineProperty(new Error('x'), '$response', { value: { body: spellings(dataKey)[0] } });
      expect(found(hidden, spellings(dataKey))).not.toEqual([]);
    });
  });
}

/** Forms of the bytes in a text: base64, base64url, hex, as a Buffer prints, as an array prints. */
export function spellings(bytes: Uint8Array): readonly string[] {
  const buffer = Buffer.from(bytes);
  const part = buffer.subarray(0, 8);
  return [
    buffer.toString('base64').slice(0, 40),
    buffer.toString('base64url').slice(0, 40),
    buffer.toString('hex').slice(0, 40),
    part.toString('hex').replaceAll(/..(?=.)/g, '$& '),
    [...part].join(','),
  ];
}

/** The secrets that stand anywhere in the error: message, stack, details, causes, hidden members. */
export function found(error: Error, secrets: readonly string[]): readonly string[] {
  const shown = inspect(error, { depth: null, showHidden: true, maxArrayLength: null, maxStringLength: null });
  const texts = [shown, shown.replaceAll(/\s+/g, ' '), shown.replaceAll(/\s+/g, ''), JSON.stringify(error) ?? ''];
  return secrets.filter((secret) => texts.some((text) => text.includes(secret)));
}
