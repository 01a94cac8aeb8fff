/** The three kinds of receivers, and the process around them. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { NotDoneError } from '@tidemark/sdk';
import { expect, test } from 'vitest';
import { Ledger, type Receiver, receiptOf } from './ledger.ts';
import { LedgerClient } from './ledger-client.ts';
import { startLedger } from './ledger-process.ts';

const effect = (receiver: Receiver, key = 'k') => ({ receiver, key, action: 'w-1/pay-0', amount: 7 });

test.each<[Receiver, number]>([
  ['dedupe', 1],
  ['probed', 2],
  ['blind', 2],
])('%s applies a repeated key so often: %i', (receiver, count) => {
  const ledger = new Ledger();
  const receipts = [ledger.apply(effect(receiver), 1, 0), ledger.apply(effect(receiver), 1, 0)];
  expect(ledger.entries).toHaveLength(count);
  expect(ledger.entries.at(-1)!.times).toBe(count);
  expect(new Set(receipts)).toEqual(new Set([receiptOf('w-1/pay-0', 7)]));
});

test('a key that is not deduplicated away counts for its action all the same', () => {
  const ledger = new Ledger();
  ledger.apply(effect('dedupe', 'k1'), 1, 0);
  ledger.apply(effect('dedupe', 'k2'), 1, 0);
  expect(ledger.entries.map(({ times }) => times)).toEqual([1, 2]);
});

test('the process writes what it applied before it answers, and only a person may ask the blind receiver', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-ledger-'));
  const file = path.join(folder, 'ledger.jsonl');
  const server = await startLedger(file, 1);
  const client = new LedgerClient(server.port);
  try {
    await client.calm();
    const never = new AbortController().signal;
    expect(await client.apply(effect('blind'), never)).toBe(receiptOf('w-1/pay-0', 7));
    const written = (await readFile(file, 'utf8')).trim().split('\n');
    expect(written.map((line) => JSON.parse(line))).toMatchObject([{ key: 'k', receiver: 'blind', times: 1 }]);
    await expect(client.find('blind', 'k', false)).rejects.toThrow('answers no questions');
    const found = { receipt: receiptOf('w-1/pay-0', 7), action: 'w-1/pay-0' };
    expect(await client.find('blind', 'k', true)).toEqual(found);
    expect(await client.find('blind', 'other', true)).toBeUndefined();
    await client.apply(effect('probed'), never);
    expect(await client.find('probed', 'k', false)).toEqual(found);
  } finally {
    client.close();
    await server.stop();
    await rm(folder, { recursive: true });
  }
});

test('a call without a connection certainly was not made', async () => {
  const client = new LedgerClient(1);
  await expect(client.apply(effect('blind'), new AbortController().signal)).rejects.toThrow(NotDoneError);
});
