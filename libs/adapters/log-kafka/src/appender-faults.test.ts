/**
 * Owns the tests of the appender against brokers that lose answers, lose requests, answer late and move leaders, at random: histories stay
 * good (L2–L4). The control sends again without holding the partition back, and must fail.
 */

import { type Offset, partition } from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AppendAnswer, answerOf, noAnswer } from './answers.ts';
import type { AppendClient, LaneKind, PartitionBatch } from './append-client.ts';
import { Appender, type Leaders } from './appender.ts';
import { type AppendedCall, historyFaults } from './history-check-fixture.ts';
import { defaultLimits } from './limits.ts';
import type { BrokerNode } from './wire-partitions.ts';

const PARTITIONS = 3;
const nodes: readonly BrokerNode[] = [1, 2].map((nodeId) => ({ nodeId, host: 'broker', port: nodeId }));

/** The outcome of one partition of one request. */
type Fate = 'stored' | 'answer lost' | 'request lost' | 'stored late' | 'not the leader' | 'without enough replicas';
const fates: fc.Arbitrary<Fate> = fc.constantFrom(
  'stored',
  'stored',
  'stored',
  'answer lost',
  'request lost',
  'stored late',
  'not the leader',
  'without enough replicas',
);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Brokers with a given list of faults; afterwards everything succeeds. */
class UnluckyBrokers implements AppendClient, Leaders {
  readonly stored: string[][] = Array.from({ length: PARTITIONS }, () => []);
  readonly missingForMs = 0;
  readonly #fates: Fate[];
  readonly #late: { readonly partition: number; readonly names: readonly string[] }[] = [];
  #leader = 0;

  constructor(given: readonly Fate[]) {
    this.#fates = [...given];
  }

  leaderOf(number: number): BrokerNode {
    return nodes[(number + this.#leader) % nodes.length]!;
  }

  async refresh(): Promise<void> {
    this.#leader++;
  }

  async append(
    _leader: BrokerNode,
    _lane: LaneKind,
    batches: readonly PartitionBatch[],
  ): Promise<readonly AppendAnswer[]> {
    await turn();
    const answers = batches.map((batch) => this.#meet(batch, this.#fates.shift() ?? 'stored'));
    await turn();
    return answers;
  }

  async close(): Promise<void> {}

  /** Requests that were in flight all the time arrive. */
  land(): void {
    for (const { partition: target, names } of this.#late.splice(0)) this.stored[target]!.push(...names);
  }

  #meet(batch: PartitionBatch, fate: Fate): AppendAnswer {
    const target = this.stored[batch.partition]!;
    const names = batch.records.map(({ value }) => Buffer.from(value).toString());
    const baseOffset = target.length;
    switch (fate) {
      case 'stored':
        target.push(...names);
        if (this.#late.length > 0 && baseOffset % 2 === 0) this.land();
        return { kind: 'stored', baseOffset };
      case 'answer lost':
        target.push(...names);
        return noAnswer('the connection was lost');
      case 'without enough replicas':
        target.push(...names);
        return answerOf('t', batch.partition, 20, -1);
      case 'stored late':
        this.#late.push({ partition: batch.partition, names });
        return noAnswer('the connection was lost');
      case 'request lost':
        return noAnswer('the connection was lost');
      case 'not the leader':
        return answerOf('t', batch.partition, 6, -1);
    }
  }
}

interface Call {
  readonly partition: number;
  readonly count: number;
  /** Turns of the event loop to let pass before it. */
  readonly turns: number;
}
const calls: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.record({ partition: fc.nat(PARTITIONS - 1), count: fc.integer({ min: 1, max: 3 }), turns: fc.nat(3) }),
  { minLength: 2, maxLength: 30 },
);

type Append = (to: number, records: readonly LogRecord[]) => Promise<Offset>;

/** Runs the calls and returns the faults of the history. */
async function faultsOf(given: readonly Call[], brokers: UnluckyBrokers, append: Append): Promise<readonly string[]> {
  const history: (AppendedCall & { partition: number })[] = [];
  const running: Promise<void>[] = [];
  for (const [index, { partition: to, count, turns }] of given.entries()) {
    for (let left = turns; left > 0; left--) await turn();
    const names = Array.from({ length: count }, (_, place) => `call ${index}.${place}`);
    const call: { names: string[]; first: number | undefined; partition: number } = {
      names,
      first: undefined,
      partition: to,
    };
    history.push(call);
    const records = names.map((name) => ({ value: Buffer.from(name), type: 'T' }));
    running.push(
      append(to, records).then((first) => {
        call.first = first;
      }),
    );
  }
  await Promise.all(running);
  brokers.land();
  return brokers.stored.flatMap((stored, number) =>
    historyFaults(
      history.filter((call) => call.partition === number),
      stored,
    ),
  );
}

function realAppender(brokers: UnluckyBrokers): Append {
  const limits = { ...defaultLimits, resendMinMs: 0, resendMaxMs: 1, requestMaxRecords: 6 };
  const appender = new Appender({ topic: 't', limits, client: brokers, topology: brokers });
  return (to, records) => appender.append(partition(to), records);
}

/** Sends every append at once, and again until it is answered, without holding back later ones. */
function carelessAppender(brokers: UnluckyBrokers): Append {
  return async (to, records) => {
    for (;;) {
      const batch = { partition: to, records, timestampMs: 0, encoded: undefined };
      const [answer] = await brokers.append(nodes[0]!, 'append', [batch]);
      if (answer?.kind === 'stored') return answer.baseOffset as Offset;
    }
  };
}

const misfortunes = fc.array(fates, { maxLength: 40 });

describe('appends through misfortunes', () => {
  test('L2–L4 hold', async () => {
    const property = fc.asyncProperty(calls, misfortunes, async (given, unlucky) => {
      const brokers = new UnluckyBrokers(unlucky);
      expect(await faultsOf(given, brokers, realAppender(brokers))).toEqual([]);
    });
    await fc.assert(property, { numRuns: 150 });
  });

  test('control: without holding the partition back they do not', async () => {
    const property = fc.asyncProperty(calls, misfortunes, async (given, unlucky) => {
      const brokers = new UnluckyBrokers(unlucky);
      expect(await faultsOf(given, brokers, carelessAppender(brokers))).toEqual([]);
    });
    const { failed } = await fc.check(property, { numRuns: 150 });
    expect(failed).toBe(true);
  });
});
