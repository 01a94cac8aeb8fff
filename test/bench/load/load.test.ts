/** The parts of `bench -- load` that judge and count, on what is known to be good or bad. The run itself is not in the suite. */

import { decodeRecord } from '@tidemark/codec';
import { type LogEntry, type Partition, workflowId } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../chaos/ledger.ts';
import { BulkHistory } from '../tiers/history.ts';
import { Gathered, judgeEffects, lostWorkflows } from './judge.ts';
import { killPlan } from './kills.ts';
import {
  added,
  addedBuckets,
  bucketQuantileMs,
  byLabel,
  mergeBuckets,
  parseMetrics,
  shareAbove,
} from './metrics-text.ts';
import { fullness } from './run.ts';
import type { Sample } from './sampler.ts';
import { figuresOf, rateInLog } from './summary.ts';
import { addTime, countOf, mergeTimes, type Times, timeQuantile } from './times.ts';

const P3 = 3 as Partition;
const STEPS = 5;

function historyOf(...names: readonly string[]): LogEntry[] {
  const bulk = new BulkHistory();
  return names.flatMap((name, at) =>
    bulk
      .workflow({
        ...{ workflow: workflowId(name), partition: P3, generation: at + 1, steps: STEPS, outputBytes: 100 },
        atMs: 10_000 * (at + 1),
      })
      .map(({ value }) => decodeRecord(value)),
  );
}

const isCheckpoint = (entry: LogEntry): boolean =>
  entry.kind === 'event' && entry.envelope.type === 'CheckpointCommitted';

function gathered(entries: readonly LogEntry[]): Gathered {
  const found = new Gathered({ starts: new Map(), ledgers: new Map(), sample: new Set() });
  found.add(P3, entries);
  return found;
}

describe('the judgement', () => {
  const starts = new Map([
    ['load-0', STEPS],
    ['load-1', STEPS],
  ]);

  it('finds nothing in a whole history', () => {
    const { streams, broken, rejected, checkpointsBySecond } = gathered(historyOf('load-0', 'load-1'));
    expect(lostWorkflows(starts, streams)).toEqual([]);
    expect({ broken, rejected }).toEqual({ broken: [], rejected: {} });
    expect([...checkpointsBySecond.values()].reduce((sum, count) => sum + count, 0)).toBe(2 * STEPS);
  });

  it('finds a checkpoint that is missing, and everything after it that is refused for it', () => {
    const entries = historyOf('load-0', 'load-1');
    const second = entries.findIndex(isCheckpoint) + 1;
    const { streams, rejected } = gathered(entries.toSpliced(second, 1));
    expect(lostWorkflows(starts, streams)).toEqual([expect.stringMatching(/^load-0: completed 0 times/)]);
    expect(Object.values(rejected).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  });

  it('finds a workflow that is gone, one that never ended, and one that nobody started', () => {
    const entries = historyOf('load-0', 'stranger');
    const unended = entries.slice(0, entries.findIndex(isCheckpoint) + 1);
    expect(lostWorkflows(starts, gathered(unended).streams)).toEqual([
      'load-0: completed 0 times',
      'load-1: nothing of it is in the history',
    ]);
    const { streams } = gathered(entries);
    expect(lostWorkflows(starts, streams)).toContain('stranger: nobody started it');
    const records = { ...streams.get('stranger')!, opened: 0, completed: 0 };
    expect(lostWorkflows(new Map(), new Map([['~memory:0', records]]))).toEqual([]);
  });

  it('finds fewer steps than were to be done', () => {
    const { streams } = gathered(historyOf('load-0'));
    expect(lostWorkflows(new Map([['load-0', STEPS + 1]]), streams)).toEqual(['load-0: 5 checkpoints of 6']);
  });

  it('finds effects that were applied twice, never, or without being asked for', () => {
    const starting = new Map([['load-0', 45]]);
    const applied = (...actions: readonly string[]) => {
      const entries = actions.map((action, at): LedgerEntry => {
        return { receiver: 'probed', key: `${action}:${at}`, action, amount: 1, atMs: 0, times: 1, pid: 1 };
      });
      return judgeEffects(
        starting,
        Map.groupBy(entries, ({ action }) => action.split('/')[0]!),
      );
    };
    expect(applied('load-0/20', 'load-0/40')).toEqual({ count: 2, doubled: [], missing: [], unasked: [] });
    expect(applied('load-0/20', 'load-0/20', 'load-0/60', 'load-9/20')).toEqual({
      count: 2,
      doubled: ['load-0/20 was applied 2 times'],
      missing: ['load-0/40 was never applied'],
      unasked: ['load-0/60: nobody asked for it', 'load-9: was not started, and has effects'],
    });
  });
});

describe('the plan of kills', () => {
  const targets = ['coordinator-1', 'worker-1', 'worker-2'];

  it('follows from the seed', () => {
    const plan = killPlan(8, 3_600_000, 60_000, targets);
    expect(plan).toEqual(killPlan(8, 3_600_000, 60_000, targets));
    expect(plan).not.toEqual(killPlan(9, 3_600_000, 60_000, targets));
    expect(new Set(plan.map(({ target }) => target))).toEqual(new Set(targets));
  });

  it('kills one each period, and asks another in between', () => {
    const plan = killPlan(8, 180_000, 60_000, targets);
    expect(plan.map(({ atMs, how }) => [atMs, how])).toEqual([
      [30_000, 'SIGKILL'],
      [60_000, 'SIGTERM'],
      [90_000, 'SIGKILL'],
      [120_000, 'SIGTERM'],
      [150_000, 'SIGKILL'],
    ]);
    for (let at = 0; at + 1 < plan.length; at += 2) expect(plan[at + 1]!.target).not.toBe(plan[at]!.target);
  });
});

const text = (counts: readonly [number, number, number], rejected: number): string => `# TYPE latency histogram
latency_bucket{le="0.01"} ${counts[0]}
latency_bucket{le="0.05"} ${counts[1]} # {trace_id="a"} 0.02
latency_bucket{le="+Inf"} ${counts[2]}
latency_count ${counts[2]}
rejected_total{reason="duplicate"} ${rejected}
rejected_total{reason="closed"} 1
# EOF
`;

describe('what processes tell', () => {
  const before = parseMetrics(text([10, 10, 10], 2));
  const after = parseMetrics(text([10, 20, 30], 5));

  it('is counted from one look to the next', () => {
    expect(added(after, before, 'rejected_total')).toBe(3);
    expect(byLabel(after, 'rejected_total', 'reason').get('duplicate')).toBe(5);
    expect(addedBuckets(after, before, 'latency').counts).toEqual([0, 10, 10]);
    expect(addedBuckets(after, undefined, 'latency').counts).toEqual([10, 10, 10]);
  });

  it('begins anew where a process was replaced', () => {
    expect(added(before, after, 'rejected_total')).toBe(3);
    expect(addedBuckets(before, after, 'latency').counts).toEqual([10, 0, 0]);
  });

  it('has quantiles within its buckets, and a share above a bound', () => {
    const buckets = mergeBuckets(undefined, addedBuckets(after, before, 'latency'));
    expect(bucketQuantileMs(buckets, 0.25)).toBeCloseTo(30);
    expect(bucketQuantileMs(buckets, 0.99)).toBe(50);
    expect(shareAbove(buckets, 0.05)).toBe(0.5);
    expect(bucketQuantileMs({ boundsS: [], counts: [] }, 0.5)).toBeNaN();
  });
});

it('times keep every quantile to a tenth, through any merge', () => {
  const [odd, even]: [Times, Times] = [new Map(), new Map()];
  for (let ms = 1; ms <= 1_000; ms++) addTime(ms % 2 === 0 ? even : odd, ms);
  mergeTimes(odd, even);
  expect(countOf(odd)).toBe(1_000);
  for (const q of [0.01, 0.5, 0.99]) {
    expect(timeQuantile(odd, q) / (1_000 * q)).toBeGreaterThanOrEqual(0.999);
    expect(timeQuantile(odd, q) / (1_000 * q)).toBeLessThan(1.11);
  }
});

const GIB = 1024 ** 3;
function sample(atMs: number, given: Partial<Sample> & { readonly workerBytes?: number } = {}): Sample {
  const { workerBytes = 100, ...rest } = given;
  return {
    ...{ atMs, tookMs: 1_000, live: 10, checkpoints: 20, commit: null, stepToStep: [], late: [] },
    ...{ lagEvents: 3, lagMs: null, resumed: 0, rejected: {}, loadAverage: 1 },
    slow: {
      rss: { 'worker-0': workerBytes, 'worker-1': 50 },
      pss: { kafka: 7 },
      cpuS: { worker: atMs / 10_000 },
      room: { shmUsedBytes: GIB, shmFreeBytes: 9 * GIB, availableBytes: 9 * GIB },
      logBytes: null,
    },
    ...rest,
  };
}

describe('the figures', () => {
  const figure = (samples: readonly Sample[], name: string, killsMs: readonly number[] = []): number | undefined =>
    figuresOf(samples, killsMs).find((each) => each.name === name)?.value;
  const minute = (bytes: (at: number) => number): Sample[] =>
    Array.from({ length: 60 }, (_, at) => sample((at + 1) * 1_000, { workerBytes: bytes(at) }));

  it('tell memory that grows from memory that is flat, by the process that is never ended', () => {
    expect(
      figure(
        minute(() => 100),
        'load.memory.worker.q4_over_q2',
      ),
    ).toBe(1);
    expect(
      figure(
        minute((at) => 100 + at),
        'load.memory.worker.q4_over_q2',
      ),
    ).toBeGreaterThan(1.2);
    expect(
      figure(
        minute((at) => at),
        'load.memory.kafka.q4_over_q2',
      ),
    ).toBe(1);
  });

  it('tell rate, lag and processor time for a checkpoint', () => {
    const samples = minute(() => 1);
    expect(figure(samples, 'load.rate_told_per_s')).toBe(20);
    expect(figure(samples, 'load.lag.p99')).toBe(3);
    expect(figure(samples, 'load.cpu.worker.us_per_checkpoint')).toBeCloseTo(5_000);
  });

  it('tell commits of undisturbed times apart', () => {
    const commit = (counts: readonly number[]) => ({ commit: { boundsS: [0.01, 0.1], counts } });
    const samples = [sample(1_000, commit([99, 0])), sample(2_000, commit([0, 99])), sample(30_000, commit([99, 0]))];
    expect(figure(samples, 'load.commit.over_50ms_percent', [1_500])).toBeCloseTo(33.33, 1);
    expect(figure(samples, 'load.commit_undisturbed.over_50ms_percent', [1_500])).toBe(0);
  });

  it('are none of no samples', () => expect(figuresOf([], [])).toEqual([]));

  it('count what the log has within the measured seconds', () => {
    const bySecond = new Map([
      [9, 100],
      [10, 4],
      [11, 6],
      [12, 100],
    ]);
    expect(rateInLog(bySecond, 9_500, 2_600)).toBe(5);
  });
});

it('a run ends when there is no room left', () => {
  const short = (room: object) => [
    sample(1_000, { slow: { ...sample(1).slow!, room: { ...sample(1).slow!.room, ...room } } }),
  ];
  expect(fullness(short({}))).toBeUndefined();
  expect(fullness(short({ shmFreeBytes: GIB }))).toMatch('/dev/shm has only 1.0 GiB left');
  expect(fullness(short({ availableBytes: GIB }))).toMatch('the machine has only 1.0 GiB of memory left');
});
