import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { RejectReason } from '@tidemark/core';
import { expect, it } from 'vitest';
import { checkRejected } from './health.ts';

const found = (...reasons: readonly string[]) =>
  checkRejected(
    reasons.length,
    reasons.map((reason, offset) => ({ reason, partition: 0, offset })),
  );

it('takes repetitions and zombies that were kept out for what they are', () => {
  const plain = found('duplicate', 'closed', 'not-asked', 'stale-epoch', 'wrong-holder');
  expect(plain).toMatchObject({ level: 'ok', message: expect.stringContaining('nothing to do') });
});

it('warns of another writer only for what none of ours would write, and names that', () => {
  const odd = found('duplicate', 'malformed', 'closed');
  expect(odd).toMatchObject({
    level: 'warn',
    remedy: expect.stringContaining('for malformed: the newest is malformed'),
  });
  expect(odd).toMatchObject({ remedy: expect.stringContaining('partition 0, offset 1') });
});

/** Of the type each reason, so that a new one is asked about. */
const reasons: Readonly<Record<RejectReason, true>> = {
  'stale-epoch': true,
  'wrong-holder': true,
  duplicate: true,
  'ordinal-gap': true,
  'wrong-parent': true,
  'lamport-regression': true,
  'clock-regression': true,
  closed: true,
  parked: true,
  'wrong-generation': true,
  malformed: true,
  'unknown-task': true,
  'not-intended': true,
  'request-changed': true,
  'not-asked': true,
  'signals-full': true,
  'stale-version': true,
};

it('warns of exactly the reasons that the alert does', async () => {
  const rules = await readFile(path.resolve(import.meta.dirname, '../../../../../deploy/prometheus/rules.yml'), 'utf8');
  const lists = [...rules.matchAll(/tidemark_events_rejected_total\{reason!~"([^"]+)"/g)].map(([, list]) => list!);
  expect(new Set(lists).size).toBe(1);
  const known = lists[0]!.split('|');
  const all = Object.keys(reasons);
  expect(all.filter((reason) => found(reason).level !== 'warn').toSorted()).toEqual(known.toSorted());
});
