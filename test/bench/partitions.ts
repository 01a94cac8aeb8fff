/**
 * `npm run bench -- partitions`: many live partitions, one workflow in each. Told are the idle coordinator's processor time,
 * and the time from an append to the hint that its rows were written, at a steady rate of checkpoints.
 */

import { type Partition, streamFromJson, type TaskId, type WorkflowId } from '@tidemark/core';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import { LamportClock, LeasedStream } from '@tidemark/runtime';
import { cpuSeconds, memoryBytes, startService } from '@tidemark/testkit/processes';
import { startClusterServers } from '@tidemark/testkit/servers';
import { median, type Report } from './report.ts';
import { STEP_BYTES } from './run-steps.ts';
import { durableSteps } from './workflows.ts';

const RATE_PER_S = 2_000;
const DURATION_MS = 15_000;
const IDLE_MS = 10_000;
const SETTLE_MS = 6_000;
const BEAT_MS = 250;
const TICK_MS = 5;
const LOAD_BATCH = 250;

export async function measurePartitions(counts: readonly number[], report: Report): Promise<void> {
  for (const count of counts) {
    const servers = await startClusterServers({ dataIn: 'memory' });
    try {
      await measure(count, servers, report);
    } finally {
      await servers.stop();
    }
  }
}

async function measure(
  count: number,
  servers: Awaited<ReturnType<typeof startClusterServers>>,
  report: Report,
): Promise<void> {
  const env = {
    TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
    TIDEMARK_REDIS_URL: servers.redis.address,
    TIDEMARK_POSTGRES_URL: servers.postgres.address,
    TIDEMARK_TOPIC: `bench-${process.pid}-${count}`,
    TIDEMARK_PARTITIONS: String(count),
    TIDEMARK_PARTITIONS_MAX: String(count),
    TIDEMARK_ENCRYPTION: 'off',
  };
  const coordinator = await startService('coordinator', env);
  const host = await openCluster(configFromEnv(env));
  try {
    const holder = new Holder(host);
    await holder.open(count);
    report.note(`${count} partitions: ${count} live workflows held`);
    // One sweep's time, so that nothing of the opening is left to do.
    await host.ports.clock.sleep(SETTLE_MS);
    const before = await cpuSeconds(coordinator.pid);
    await host.ports.clock.sleep(IDLE_MS);
    const idle = ((await cpuSeconds(coordinator.pid)) - before) / (IDLE_MS / 1_000);
    report.add(`partitions.${count}.idle_cpu_percent`, idle * 100, '%');
    await holder.load(DURATION_MS / 5);
    const busyBefore = await cpuSeconds(coordinator.pid);
    const { latenciesMs, appendedCount } = await holder.load(DURATION_MS);
    const busy = ((await cpuSeconds(coordinator.pid)) - busyBefore) / (DURATION_MS / 1_000);
    report.add(`partitions.${count}.events_per_s`, appendedCount / (DURATION_MS / 1_000), 'events/s');
    report.add(`partitions.${count}.projected_median_ms`, median(latenciesMs), 'ms');
    report.addTail(`partitions.${count}.projected_p99_ms`, latenciesMs, 'ms');
    report.add(`partitions.${count}.busy_cpu_percent`, busy * 100, '%');
    report.add(
      `partitions.${count}.coordinator_memory_mb`,
      (await memoryBytes(coordinator.pid)).peak / 1_048_576,
      'MB',
    );
    await holder.close();
  } finally {
    await host.close();
    await coordinator.stop();
  }
}

/** Holds a lease on every workflow, as a worker would, and writes checkpoints at a steady rate. */
class Holder {
  readonly #host: Host;
  readonly #name = `bench-holder-${process.pid}-${Date.now()}` as never;
  readonly #lamport = new LamportClock();
  readonly #streams: LeasedStream[] = [];
  readonly #partitions: Partition[] = [];
  /** When the last append to a partition began, until the hint that its rows were written. */
  readonly #waiting = new Map<Partition, number[]>();
  #latenciesMs: number[] = [];
  #beat: NodeJS.Timeout | undefined;
  #unsubscribe: (() => Promise<void>) | undefined;

  constructor(host: Host) {
    this.#host = host;
  }

  async open(count: number): Promise<void> {
    const { ports, client } = this.#host;
    this.#beat = setInterval(() => void this.#beatOnce(), BEAT_MS);
    await this.#beatOnce();
    this.#unsubscribe = await ports.hints.subscribe('applied', (partitions) => this.#applied(partitions));
    const given = { steps: 1_000_000, bytes: STEP_BYTES, timed: false };
    const ids: WorkflowId[] = [];
    for (let from = 0; from < count; from += LOAD_BATCH) {
      const batch = Array.from({ length: Math.min(LOAD_BATCH, count - from) }, (_, n) => `held-${from + n}`);
      await Promise.all(batch.map(async (id) => ids.push((await client.start(durableSteps, given, { id })).id)));
    }
    for (let from = 0; from < count; from += LOAD_BATCH) await this.#hold(ids.slice(from, from + LOAD_BATCH));
  }

  async #hold(ids: readonly WorkflowId[]): Promise<void> {
    const { ports } = this.#host;
    let snapshots = await ports.store.loadStreams(ids);
    while (snapshots.length < ids.length) {
      await ports.clock.sleep(TICK_MS);
      snapshots = await ports.store.loadStreams(ids);
    }
    await Promise.all(
      snapshots.map(async (snapshot) => {
        const stream = new LeasedStream(streamFromJson(snapshot.state, snapshot.tasks), snapshot.next, {
          ports,
          lamport: this.#lamport,
          partition: snapshot.partition,
          holder: this.#name,
        });
        const claimed = stream.stage([{ type: 'LeaseClaimed', control: {}, payload: null }]);
        stream.flush();
        await claimed;
        this.#streams.push(stream);
        this.#partitions.push(snapshot.partition);
      }),
    );
  }

  async #beatOnce(): Promise<void> {
    const leases = this.#streams.map(({ confirmed }) => ({ workflow: confirmed.workflow, epoch: confirmed.epoch }));
    await this.#host.ports.liveness.beat(this.#name, leases, 4 * BEAT_MS);
  }

  #applied(partitions: readonly Partition[]): void {
    const now = performance.now();
    for (const partition of partitions) {
      for (const since of this.#waiting.get(partition) ?? []) this.#latenciesMs.push(now - since);
      this.#waiting.delete(partition);
    }
  }

  /** Writes checkpoints to the workflows in turn at `RATE_PER_S`, whatever becomes of those before. */
  async load(durationMs: number): Promise<{ readonly latenciesMs: readonly number[]; readonly appendedCount: number }> {
    this.#latenciesMs = [];
    const started = performance.now();
    let appendedCount = 0;
    const writes: Promise<void>[] = [];
    for (;;) {
      const elapsed = performance.now() - started;
      if (elapsed >= durationMs) break;
      for (const due = (elapsed / 1_000) * RATE_PER_S; appendedCount < due; appendedCount++) {
        writes.push(this.#write(appendedCount % this.#streams.length));
      }
      await this.#host.ports.clock.sleep(TICK_MS);
    }
    await Promise.all(writes);
    while (this.#waiting.size > 0) await this.#host.ports.clock.sleep(TICK_MS);
    return { latenciesMs: this.#latenciesMs, appendedCount };
  }

  async #write(index: number): Promise<void> {
    const stream = this.#streams[index]!;
    const partition = this.#partitions[index]!;
    const since = performance.now();
    const { head } = stream.speculative;
    const sequence = head.sequence + 1;
    const accepted = stream.stage([
      {
        type: 'CheckpointCommitted',
        control: {
          checkpoint: `c${sequence}` as never,
          sequence: sequence as never,
          parent: head.checkpoint,
          task: `${head.sequence}.0` as TaskId,
          step: 'step',
          stepVersion: 1,
          inputDigest: '0'.repeat(64),
          tasks: [{ step: 'step', after: [], when: [] }],
          belief: 'none',
          tokens: 0,
          costMicros: 0,
          supersedes: null,
          lastAction: 'step',
        },
        payload: { output: 'x'.repeat(STEP_BYTES), tasks: [null] },
      },
    ]);
    const waiting = this.#waiting.get(partition) ?? [];
    this.#waiting.set(partition, waiting);
    waiting.push(since);
    stream.flush();
    await accepted;
  }

  async close(): Promise<void> {
    clearInterval(this.#beat);
    await this.#unsubscribe?.();
  }
}
