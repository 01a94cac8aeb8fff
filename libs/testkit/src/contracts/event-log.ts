/**
 * Owns the contract of EventLog as tests; every adapter runs it. `open` gives an empty log with at least 48 partitions for
 * the whole suite; each test takes partitions of its own. L1–L4 are those of the port.
 */

import { type Partition, partition } from '@tidemark/core';
import { afterAll, beforeAll, describe } from 'vitest';
import { appendTests } from './event-log-appends.ts';
import { growthTests, reopenTests, twoProcessTests } from './event-log-lifetime.ts';
import { eventLogModelContract } from './event-log-model.ts';
import { readTests, trimTests } from './event-log-reads.ts';
import { refusalTests } from './event-log-refusals.ts';
import type { LogUnderTest, OpenedEventLog } from './event-log-under-test.ts';

export function eventLogContract(name: string, open: () => Promise<OpenedEventLog>): void {
  describe(`event log contract: ${name}`, () => {
    const under = { fresh: freshPartitions() } as LogUnderTest;
    beforeAll(async () => {
      under.opened = await open();
      under.log = under.opened.log;
    });
    afterAll(() => under.opened.cleanup());

    describe('appends', () => appendTests(under));
    describe('reads', () => readTests(under));
    describe('trimming and bounds', () => trimTests(under));
    describe('limits and wrong input', () => refusalTests(under));
    describe('against a naive log', () => eventLogModelContract(under));
    describe('growth', () => growthTests(under));
    describe('two processes', () => twoProcessTests(under));
    describe('closing and opening again', () => reopenTests(under));
  });
}

function freshPartitions(): () => Partition {
  let next = 0;
  return () => partition(next++);
}
