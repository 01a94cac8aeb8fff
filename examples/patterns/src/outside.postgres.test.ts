/** The order of `outside.ts`, with a payment service that deduplicates by key: a worker dies after each call in turn. */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testWorld } from '@tidemark/testkit';
import { describeServers } from '@tidemark/testkit/suites';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { book, charge, closeBooks, sell, writeReceipt } from './outside.ts';

describeServers('the usual outside', ['postgres'], (servers) => {
  const charges = new Map<string, string>();
  const service = createServer((request, response) => {
    const key = request.headers['idempotency-key'] ?? new URL(request.url!, 'http://x').searchParams.get('key');
    if (request.method === 'POST' && !charges.has(String(key))) charges.set(String(key), `c${charges.size + 1}`);
    const id = charges.get(String(key));
    request.resume();
    response.writeHead(id === undefined ? 404 : 200).end(JSON.stringify({ id }));
  });
  let folder: string;
  let database: pg.Client;
  beforeAll(async () => {
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    folder = await mkdtemp(join(tmpdir(), 'tidemark-outside-'));
    const url = await servers.freshDatabase();
    database = new pg.Client({ connectionString: url });
    await database.connect();
    await database.query('create table bookings (order_id text, cents int)');
    Object.assign(process.env, {
      PAYMENTS_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
      PAYMENTS_TOKEN: 'test',
      BOOKS_URL: url,
      RECEIPTS_DIR: folder,
    });
  });
  afterAll(async () => {
    service.closeAllConnections();
    service.close();
    await closeBooks();
    await database.end();
    await rm(folder, { recursive: true });
  });

  test('is charged, booked and written once, though a worker dies after each call', async () => {
    const world = await testWorld({ workflows: [sell] });
    try {
      for (const { operation } of [charge, book, writeReceipt]) world.crash({ after: 'call', operation });
      const run = await world.start(sell, { orderId: '8821', cents: 9_900 });
      expect(await run.result()).toEqual({ chargeId: 'c1', receipt: join(folder, '8821.txt') });
      expect(world.crashCount).toBe(3);
    } finally {
      await world.close();
    }
    expect(charges.size).toBe(1);
    expect((await database.query('select * from bookings')).rows).toEqual([{ order_id: '8821', cents: 9_900 }]);
    expect(await readdir(folder)).toEqual(['8821.txt']);
    expect(await readFile(join(folder, '8821.txt'), 'utf8')).toBe('Order 8821: 9900 cents, charge c1\n');
  });
});
