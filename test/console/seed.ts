/** Owns a folder with state as a busy day leaves it: runs that ended, wait, ask and failed, one that lost its worker, and hostile names. */

import { setTimeout as wait } from 'node:timers/promises';
import { type Host, openEmbedded } from '@tidemark/host';
import { counter, district, essay, letters, order, payout, refund, reviewer, survey } from './agents.ts';

export const definitions = [reviewer, refund, order, counter, payout, survey, district, essay, letters];

export const HOSTILE_ID = '<img src=x onerror=alert(1)> \u202egnp.exe';

/** Shown wherever a text is. */
export const HOSTILE_TEXT = `<b onmouseover=alert(3)>${'wide'.repeat(60)}</b> \u202eothgir \u0007 שלום`;

/** Opens the folder with everything running in this process. */
export async function openSeeded(folder: string): Promise<Host> {
  const host = await openEmbedded({ folder });
  await host.startWorker({ definitions, concurrency: 20 });
  return host;
}

export async function seed(host: Host): Promise<void> {
  await seedPeople(host);
  const { client } = host;
  const ends = [
    client.start(
      reviewer,
      { repository: 'acme/payments', modules: 8 },
      { id: 'review-payments-1182', session: 'acme-q3', user: 'ana' },
    ),
    client.start(reviewer, { repository: 'acme/ledger', modules: 3 }, { id: 'review-ledger-1183', user: 'ben' }),
    client.start(counter, { steps: 40, pauseMs: 0, breaks: false }, { id: 'backfill-customers' }),
    client.start(counter, { steps: 6, pauseMs: 0, breaks: false }, { id: HOSTILE_ID }),
  ];
  for (let at = 0; at < 12; at++) {
    ends.push(
      client.start(
        counter,
        { steps: 2 + (at % 5), pauseMs: 0, breaks: false },
        { id: `backfill-2026-${String(at + 1).padStart(2, '0')}` },
      ),
    );
  }
  for (const run of await Promise.all(ends)) await run.result();
  for (const [at, item] of ['lamp', 'desk', 'sea charts'].entries()) {
    const run = await client.start(order, { item, times: 3 }, { id: `order-${5_107 + at}` });
    if (at === 0) await client.signal(run.id, 'shipped', { by: 'dock 4', parcel: 1 });
  }
  const freeze = { id: 'freeze-backfills', act: 'cancel', by: 'token:ana', why: HOSTILE_TEXT } as const;
  await client.bulk.start({ ...freeze, filter: { definition: 'backfill' }, signal: null });
  await client.start(refund, { orderId: '8821', cents: 64_900 }, { id: 'refund-8821' });
  await client.start(refund, { orderId: '8830', cents: 1_250 }, { id: 'refund-8830' });
  await client.start(counter, { steps: 5, pauseMs: 0, breaks: true }, { id: 'backfill-orders' });
  for (let tries = 0; tries < 200; tries++) {
    const parked = await host.ports.store.workflows({ status: 'parked', limit: 10 });
    if (parked.length >= 2) return;
    await wait(50);
  }
}

/** Approvals, children and schedules. */
async function seedPeople({ client }: Host): Promise<void> {
  const detail = {
    customer: 'Meridian Shipping',
    orders: 14,
    since: '2024-03-02',
    disputes: [{ id: 'd-17', open: true }],
  };
  await client.start(payout, { title: 'Pay Meridian Shipping 6,490.00 €?', detail }, { id: 'payout-meridian' });
  await client.start(
    payout,
    { title: 'Pay the harbour fees?', assignee: 'token:ana', detail: null },
    { id: 'payout-2210' },
  );
  await client.start(
    payout,
    { title: HOSTILE_TEXT, detail: { [HOSTILE_TEXT]: HOSTILE_TEXT } },
    { id: 'payout-odd', user: '<i>user</i>', session: '<u>session</u>' },
  );
  const districts = ['Altona', 'Eimsbüttel', 'Harburg', 'Wandsbek', 'Bergedorf', 'St. Pauli', 'Barmbek', 'Veddel'];
  await client.start(
    survey,
    { districts: [...districts, 'Finkenwerder', 'Blankenese', 'Ottensen'] },
    { id: 'survey-2026' },
  );
  const nightly = { id: 'nightly-backfill', cron: '0 2 * * 1-5', timeZone: 'Europe/Berlin' } as const;
  await client.schedules.set(counter, { steps: 3 }, nightly);
  await client.schedules.fire('nightly-backfill');
  await client.schedules.set(counter, { steps: 2 }, { id: 'hourly-totals', cron: '0 * * * *', overlap: 'queue' });
  await client.pause('hourly-totals', { by: 'token:ana', why: 'the ledger is being moved' });
  await client.schedules.set(
    counter,
    { steps: 2 },
    { id: '<img src=x> weekly', cron: '30 6 * * 1', timeZone: 'Asia/Tokyo' },
  );
}
