/** Owns the tests of appends with an unknown outcome, on a real broker: swallowed answers, cut connections, a broker killed (L2–L4). */

import { type Offset, offset, type Partition, partition } from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import { readAll, record, texts } from '@tidemark/testkit/contracts/event-log-under-test';
import { eventually } from '@tidemark/testkit/eventually';
import { isUnavailable, type NativeServer, startServer } from '@tidemark/testkit/servers';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AppendedCall, historyFaults } from './history-check-fixture.ts';
import { openKafkaLog } from './index.ts';
import { type LossyProxy, startLossyProxy } from './lossy-proxy-fixture.ts';

const [P0, P1] = [partition(0), partition(1)];

describeServers('appends in doubt', ['kafka'], (servers) => {
  describe('through a proxy that loses them', () => {
    let proxy: LossyProxy;
    let log: EventLog;
    beforeEach(async () => {
      proxy = await startLossyProxy(servers.kafka);
      const limits = { appendTimeoutMs: 200, appendGraceMs: 100, closeTimeoutMs: 100 };
      const topic = freshTopicName('doubt');
      log = await openKafkaLog({ brokers: [proxy.address], topic, partitions: 2, limits });
      // Connects through the proxy first, so that the test is about answers.
      for (const target of [P0, P1]) await log.append(target, [record('first')]);
    });
    afterEach(async () => {
      await log.close();
      await proxy.close();
    });

    test('a swallowed answer: the same records again, acknowledged at the place of a whole copy', async () => {
      proxy.swallowAnswers(1);
      const given = await log.append(P0, [record('a'), record('b')]);
      expect(proxy.swallowedCount).toBe(1);
      const stored = texts(await readAll(log, P0));
      expect(stored).toEqual(['first', 'a', 'b', 'a', 'b']);
      expect(given).toBe(3);
    });

    test('nothing else goes to that partition meanwhile; others go on', async () => {
      proxy.swallowAnswers(1_000, 'doubtful');
      const doubtful = log.append(P0, [record('doubtful')]);
      await eventually(() => proxy.swallowedCount > 0);
      const behind = log.append(P0, [record('behind')]);
      await eventually(() => proxy.swallowedCount > 1);
      let isKnown = false;
      void doubtful.then(() => {
        isKnown = true;
      });
      for (let round = 0; round < 5; round++) await log.append(P1, [record('other')]);
      expect(isKnown).toBe(false);
      expect(texts(await readAll(log, P0))).not.toContain('behind');
      proxy.swallowAnswers(0);
      const [first, second] = await Promise.all([doubtful, behind]);
      expect(second).toBeGreaterThan(first);
      const stored = texts(await readAll(log, P0));
      expect(stored.indexOf('behind')).toBeGreaterThan(stored.indexOf('doubtful'));
    });

    test('cut connections: every append is acknowledged, and there', async () => {
      const calls: AppendedCall[] = [];
      for (let round = 0; round < 30; round++) {
        const name = `round ${round}`;
        const given = log.append(P0, [record(name)]);
        if (round % 10 === 5) proxy.cut();
        calls.push({ names: [name], first: await given });
      }
      const stored = texts(await readAll(log, P0));
      expect(historyFaults([{ names: ['first'], first: 0 }, ...calls], stored)).toEqual([]);
    });

    test('giving up: the caller is told that nobody knows', async () => {
      proxy.swallowAnswers(1_000);
      const abort = new AbortController();
      const given = log.append(P0, [record('a')], { signal: abort.signal });
      await eventually(() => proxy.swallowedCount > 1);
      abort.abort();
      await expect(given).rejects.toMatchObject({ name: 'UnavailableError', code: 'append-aborted' });
      proxy.swallowAnswers(0);
      const next = await log.append(P0, [record('next')]);
      expect(texts(await readAll(log, P0)).slice(next)).toEqual(['next']);
    });

    test('closing: what is still in doubt is let go after a bounded time', async () => {
      proxy.swallowAnswers(1_000);
      const given = log.append(P0, [record('a')]);
      const refused = expect(given).rejects.toMatchObject({ name: 'UnavailableError', code: 'append-closed' });
      await eventually(() => proxy.swallowedCount > 0);
      await log.close();
      await refused;
    });
  });
});

/** The suites above share the run's broker; this one kills a broker of its own. */
describeServers('a broker that is killed', ['kafka'], () => {
  let server: NativeServer | undefined;
  beforeAll(async () => {
    const started = await startServer('kafka', { sources: ['native'] });
    if (isUnavailable(started)) {
      if (process.env.CI === 'true') throw new Error(started.unavailable);
    } else if (started.source === 'native') server = started;
  });
  afterAll(() => server?.stop());

  test('in the middle of appends: nothing acknowledged is lost', async () => {
    if (server === undefined) return;
    const topic = freshTopicName('killed');
    const log = await openKafkaLog({ brokers: [server.address], topic, partitions: 8 });
    const writers = Array.from({ length: 8 }, (_, number) => new Writer(log, partition(number)));
    const running = writers.map((writer) => writer.run());
    await eventually(() => writers.every(({ calls }) => calls.length > 20));
    const before = acknowledged(writers);
    await server.kill();
    // Reads fail in a bounded time and with a clear error, or wait until the broker is back.
    const read = log.read([{ partition: P0, from: offset(0) }]).catch((error: unknown) => error);
    await server.startAgain();
    await eventually(() => acknowledged(writers) > before + 200, { timeoutMs: 60_000, what: 'appends to go on' });
    for (const writer of writers) writer.stop();
    await Promise.all(running);
    const result = await read;
    if (result instanceof Error) expect(result).toMatchObject({ name: 'UnavailableError', code: 'log-unavailable' });
    for (const { target, calls } of writers) {
      expect(historyFaults(calls, texts(await readAll(log, target)))).toEqual([]);
    }
    await log.close();
  }, 150_000);
});

/** Appends one after another, a few records each, and remembers what was acknowledged where. */
class Writer {
  readonly target: Partition;
  readonly calls: { readonly names: readonly string[]; readonly first: Offset }[] = [];
  readonly #log: EventLog;
  #isStopped = false;

  constructor(log: EventLog, target: Partition) {
    this.#log = log;
    this.target = target;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    for (let round = 0; !this.#isStopped; round++) {
      const names = Array.from({ length: 1 + (round % 3) }, (_, index) => `${round}.${index}`);
      const first = await this.#log.append(
        this.target,
        names.map((name) => record(name)),
      );
      this.calls.push({ names, first });
    }
  }
}

const acknowledged = (writers: readonly Writer[]): number => writers.reduce((sum, { calls }) => sum + calls.length, 0);
