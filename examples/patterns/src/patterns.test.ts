import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { EffectKey, Workflow } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { issueCredit, refund } from './effect.ts';
import { countLines } from './fan-out.ts';
import { book, entryOf, strike } from './ledger.ts';
import { checkLinks } from './loop.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-patterns-'));
  process.env.LEDGER_DIR = join(folder, 'ledger');
});
afterEach(async () => {
  delete process.env.LEDGER_DIR;
  await rm(folder, { recursive: true });
});

const file = async (path: string, text: string) => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
};

/** Opening a world, database and all, on a busy machine. */
const OPEN_MAX_MS = 60_000;

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [checkLinks, countLines, refund] });
}, OPEN_MAX_MS);
afterAll(() => world.close());

const play = async (workflow: Workflow, input: unknown): Promise<unknown> =>
  (await world.start(workflow, input)).result();

describe('the loop', () => {
  it('follows links from page to page and finds the broken ones', async () => {
    await file('README.md', '[a](docs/a.md) [a again](./docs/a.md#there) [out](https://example.org/x.md)');
    await file('docs/a.md', '[home](../README.md) [gone](gone.md)');
    expect(await play(checkLinks, { start: join(folder, 'README.md') })).toEqual({
      pages: 3,
      broken: [join(folder, 'docs/gone.md')],
    });
  });
});

describe('the fan-out', () => {
  it('counts each file and joins', async () => {
    await file('a.ts', '1\n2\n3');
    await file('deep/b.js', '1');
    await file('notes.txt', '1\n2');
    await file('node_modules/c.js', '1');
    expect(await play(countLines, { directory: folder })).toEqual({ files: 2, lines: 4 });
  });

  it('joins nothing when there is nothing', async () => {
    expect(await play(countLines, { directory: folder })).toEqual({ files: 0, lines: 0 });
  });
});

describe('the effect', () => {
  const order = { orderId: '8821', paidCents: 9900, daysUsed: 10, daysPaid: 30 };
  const entries = () => readdir(process.env.LEDGER_DIR!);

  it('books the credit once, though the worker dies right after the call and another goes on', async () => {
    world.crash({ after: 'call', operation: issueCredit.operation });
    expect(await play(refund, order)).toMatchObject({ cents: 6600 });
    expect(world.crashCount).toBe(1);
    expect(world.calls(issueCredit)).toHaveLength(1);
    expect(await entries()).toHaveLength(1);
  });

  it('books nothing when nothing is due', async () => {
    expect(await play(refund, { ...order, daysUsed: 31 })).toEqual({ creditId: null, cents: 0 });
  });

  it('can be probed and compensated', async () => {
    const key = 'refund-1:1.0:ledger.credit:0' as EffectKey;
    const { signal } = new AbortController();
    expect(await issueCredit.probe!(key, { signal, request: null })).toEqual({ status: 'not-done' });
    const creditId = await book(key, { account: '8821', cents: 5 });
    expect(await issueCredit.probe!(key, { signal, request: null })).toEqual({
      status: 'done',
      response: { creditId },
    });
    await issueCredit.compensate!({ creditId }, { key, signal, heartbeat: () => {} });
    await issueCredit.compensate!({ creditId }, { key, signal, heartbeat: () => {} });
    // The credit took place, and a counter-entry took it back, once.
    expect(await entryOf(key)).toBe(creditId);
    expect(await entries()).toHaveLength(2);
  });

  it('has no warnings, since it can be probed', () => {
    expect(refund.warnings).toEqual([]);
  });
});

describe('the ledger', () => {
  it('books one entry a key, also at the same time', async () => {
    const booking = { account: '1', cents: 5 };
    const ids = await Promise.all(Array.from({ length: 20 }, () => book('k', booking)));
    expect(new Set(ids).size).toBe(1);
    expect(await readdir(process.env.LEDGER_DIR!)).toEqual([`${ids[0]}.json`]);
  });

  it('refuses a key with another booking', async () => {
    await book('k', { account: '1', cents: 5 });
    await expect(book('k', { account: '1', cents: 6 })).rejects.toThrow('another account or amount');
  });

  it('takes back only what there is', async () => {
    await expect(strike('none')).rejects.toThrow('ENOENT');
  });
});
