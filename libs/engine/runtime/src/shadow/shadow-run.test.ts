/**
 * Reporting: the log has the agent's reports once, whoever sends them and however often; the agent is neither slowed nor broken; no lease
 * outlives a write, and nobody else ever claims an observed run.
 */

import { CorruptError, type Partition, UnavailableError, type WorkflowId } from '@tidemark/core';
import type { Job } from '@tidemark/ports';
import { AGENT, BEGINNING, outputOf, reportAll, reportsOf } from '@tidemark/testkit/engine/shadow-fixture';
import { definitionOf, foldLog, typesOf } from '@tidemark/testkit/engine/simulated-definition';
import { quiet } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client/client.ts';
import { LamportClock } from '../kernel/ports.ts';
import { sha256Digest } from '../kernel/system.ts';
import { SHADOW_BUFFER_MAX_COUNT } from './shadow-run.ts';
import { asShare, type ShadowShare } from './shadow-share.ts';
import { isInShare } from './share-members.ts';

const PARTITIONS = 4;

describe('a shadow run', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;

  const inTime = async <T>(promise: Promise<T>, maxMs = 60_000): Promise<T> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    await world.ports.clock.runUntil(() => isSettled, maxMs);
    return settled;
  };
  const share = (to: ShadowShare) => inTime(world.client.shadows.promote('agent', { to, by: 'ops' }));
  /** Another process that reports. */
  const otherClient = (): Client => new Client({ ports: world.ports, lamport: new LamportClock() });
  const partitionOf = (workflow: string): Partition =>
    world.ports.store.placements.get(workflow as WorkflowId)!.partition;
  const typesFor = (workflow: string) => typesOf(log, partitionOf(workflow));
  const streamOf = async (workflow: string) =>
    (await foldLog(log, partitionOf(workflow))).state.streams.get(workflow as WorkflowId)!;

  beforeEach(async () => {
    log = new SimulatedLog(PARTITIONS, 16_384);
    world = new SimulatedWorld(log, PARTITIONS);
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  it.each(['a~2', 'a~1.0'])('has no id that only the system gives (%s)', (id) => {
    expect(() => world.client.shadow(AGENT, { id, ...BEGINNING })).toThrow(
      expect.objectContaining({ code: 'workflow-id-reserved' }),
    );
  });

  it('records every step of an agent that runs elsewhere, and its end', async () => {
    await share(100);
    const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
    reportAll(run, 3);
    expect(await inTime(run.flushed())).toBe(true);
    expect(run.counts).toEqual({ reported: 5, written: 5, repeated: 0, lost: 0, failures: 0, waiting: 0 });
    await world.until('a' as WorkflowId, 'completed');
    const stream = await streamOf('a');
    expect(stream).toMatchObject({ shadow: true, status: 'completed', lease: null, tokens: 30, definition: 'agent' });
    expect(await inTime(world.client.run('a').result())).toEqual(outputOf(3));
    const rows = await world.client.run('a').checkpoints();
    expect(rows.map((row) => row.step)).toEqual(['plan', 'act', 'act', 'act', '~report']);
    expect((await foldLog(log, partitionOf('a'))).rejected).toEqual([]);
  });

  it('records a failure', async () => {
    await share(100);
    const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
    run.failed(Object.assign(new Error('no more tokens'), { code: 'quota' }));
    await inTime(run.flushed());
    expect(await streamOf('a')).toMatchObject({ status: 'failed', reason: 'quota' });
  });

  it('is never claimed by a worker, whatever job hints at it', async () => {
    await share(100);
    const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
    run.step(reportsOf(1)[0]!);
    await inTime(run.flushed());
    const able = definitionOf({
      name: 'agent',
      steps: { act: () => ({ done: 'stolen' }), '~report': () => ({ done: 'stolen' }) },
    });
    await world.worker([able]);
    const job = { workflow: 'a', tenant: 'default', definition: 'agent', partition: 0, offset: 0, lamport: 1 };
    await world.ports.queue.enqueue([job as unknown as Job]);
    await world.ports.clock.run(30_000);
    expect(world.ports.queue.enqueued).toHaveLength(1);
    expect(await streamOf('a')).toMatchObject({ status: 'open', epoch: 1, lease: null });
    // The control: it does claim a workflow that is no shadow.
    const own = await world.start(able, null, { id: 'own' });
    await world.until(own, 'completed');
  });

  it('holds no lease while the agent is quiet, so that nobody is taken for dead', async () => {
    await share(100);
    const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
    const [plan, act] = reportsOf(1);
    run.step(plan!);
    await inTime(run.flushed());
    await world.ports.clock.run(60_000);
    expect(await typesFor('a')).not.toContain('LeaseRevoked');
    run.step(act!);
    run.done(outputOf(1));
    await inTime(run.flushed());
    expect(await streamOf('a')).toMatchObject({ status: 'completed', crashCount: 0 });
  });

  it('tells once that a step was reported otherwise, however often and by whomever', async () => {
    await share(100);
    const [plan, act] = reportsOf(1);
    const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
    run.step(plan!);
    for (let time = 0; time < 5; time++) run.step({ ...plan!, output: { time } });
    run.step(act!);
    await inTime(run.flushed());
    const other = otherClient().shadow(AGENT, { id: 'a', ...BEGINNING });
    other.step({ ...plan!, output: 'of another process' });
    await inTime(other.flushed());
    expect(other.counts).toMatchObject({ repeated: 1, lost: 0 });
    expect((await typesFor('a')).filter((type) => type === 'SignalReceived')).toHaveLength(1);
    // Another step's report is different.
    other.step({ ...act!, output: 'otherwise' });
    await inTime(other.flushed());
    expect((await streamOf('a')).signals).toHaveLength(2);
  });

  it('keeps its id from a start, which nothing would ever run', async () => {
    await share(100);
    const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
    run.step(reportsOf(1)[0]!);
    await inTime(run.flushed());
    const own = definitionOf({ name: 'agent', steps: { act: () => ({ done: 'own' }) } });
    const starting = inTime(world.client.start(own, null, { id: 'a' }));
    await expect(starting).rejects.toMatchObject({
      code: 'workflow-is-shadow',
      message: expect.stringContaining('live:a'),
    });
  });

  describe('whose reporter dies', () => {
    /** The log accepts `count` appends of this process; then the process dies. */
    const dieAfter = (count: number): Client => {
      let takenCount = 0;
      const dying = new Proxy(log, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name);
          if (name !== 'append') return typeof value === 'function' ? value.bind(target) : value;
          return (...given: Parameters<SimulatedLog['append']>) =>
            takenCount++ < count ? target.append(...given) : new Promise(() => {});
        },
      });
      return new Client({ ports: { ...world.ports, log: dying }, lamport: new LamportClock() });
    };
    const wide = (text: string) => ({
      input: { goal: 'wide' },
      belief: { text },
      next: [{ step: 'one' }, { step: 'two' }],
    });
    const large = 'x'.repeat(9_000);
    const reports = [
      { key: '1', step: 'one', belief: { text: `1${large}` } },
      { key: '2', step: 'two', belief: { text: `2${large}` } },
    ];

    it('between two appends is revoked like any other, and another goes on', async () => {
      await share(100);
      // The opening, and the claim with the first step: with the second step they are too large for one append.
      const dying = dieAfter(2).shadow(AGENT, { id: 'a', ...wide('') });
      for (const report of reports) dying.step(report);
      await world.ports.clock.run(500);
      expect(await streamOf('a')).toMatchObject({ head: { sequence: 1 }, lease: { epoch: 1 } });
      const next = otherClient().shadow(AGENT, { id: 'a', ...wide('') });
      for (const report of reports) next.step(report);
      next.done('end');
      await inTime(next.flushed(60_000));
      expect(next.counts).toMatchObject({ written: 2, repeated: 1, lost: 0 });
      expect(await typesFor('a')).toContain('LeaseRevoked');
      expect(await streamOf('a')).toMatchObject({ status: 'completed', head: { sequence: 3 } });
    });

    it('keeps the next one waiting while nobody may be revoked: the control', async () => {
      await share(100);
      const dying = dieAfter(2).shadow(AGENT, { id: 'a', ...wide('') });
      for (const report of reports) dying.step(report);
      world.ports.liveness.isTrusted = false;
      await world.ports.clock.run(500);
      const next = otherClient().shadow(AGENT, { id: 'a', ...wide('') });
      next.step(reports[1]!);
      expect(await inTime(next.flushed(30_000))).toBe(false);
      expect(next.counts).toMatchObject({ written: 0, lost: 0, waiting: 1 });
      world.ports.liveness.isTrusted = true;
      expect(await inTime(next.flushed(30_000))).toBe(true);
    });

    it('before anything landed leaves nothing half done', async () => {
      await share(100);
      const dying = dieAfter(1).shadow(AGENT, { id: 'a', ...BEGINNING });
      reportAll(dying, 2);
      await world.ports.clock.run(5_000);
      expect(await typesFor('a')).toEqual(['WorkflowOpened']);
      const next = otherClient().shadow(AGENT, { id: 'a', ...BEGINNING });
      reportAll(next, 2);
      await inTime(next.flushed());
      expect(await streamOf('a')).toMatchObject({ status: 'completed', epoch: 1 });
    });
  });

  it('writes a step once, whoever reports it and how often', async () => {
    await share(100);
    const runs = [world.client, otherClient(), otherClient()].map((client) =>
      client.shadow(AGENT, { id: 'a', ...BEGINNING }),
    );
    for (const run of runs) for (const report of [...reportsOf(4), ...reportsOf(4)]) run.step(report);
    for (const run of runs) expect(await inTime(run.flushed(60_000))).toBe(true);
    runs[0]!.done(outputOf(4));
    await inTime(runs[0]!.flushed());
    const stream = await streamOf('a');
    expect(stream).toMatchObject({ status: 'completed', head: { sequence: 6 } });
    expect(runs.reduce((sum, run) => sum + run.counts.written, 0)).toBe(6);
    expect(runs.every((run) => run.counts.lost === 0)).toBe(true);
    expect((await world.client.shadows.account('agent')).differences).toEqual([]);
  });

  it('goes on from the log in a process that comes later', async () => {
    await share(100);
    const [plan, first, second] = reportsOf(2);
    const before = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
    before.step(plan!);
    before.step(first!);
    await inTime(before.flushed());
    world.client.close();
    const after = otherClient().shadow(AGENT, { id: 'a', ...BEGINNING });
    for (const report of [plan!, first!, second!]) after.step(report);
    after.done(outputOf(2));
    await inTime(after.flushed());
    expect(after.counts).toMatchObject({ written: 2, repeated: 2 });
    expect(await streamOf('a')).toMatchObject({ status: 'completed', head: { sequence: 4 } });
  });

  describe('never breaks the agent', () => {
    it('while the log, the rows or the roll-out are away: it waits, and nothing is lost', async () => {
      await share(100);
      world.ports.store.on('loadStreams', () => {
        throw new UnavailableError('store-unavailable', 'away');
      });
      const release = log.hold();
      const problems: unknown[] = [];
      const run = otherClient().shadow(AGENT, { id: 'a', ...BEGINNING, onProblem: (error) => problems.push(error) });
      reportAll(run, 2);
      expect(run.observed).toBeUndefined();
      expect(await inTime(run.flushed(2_000))).toBe(false);
      world.ports.store.on('loadStreams', undefined);
      release();
      expect(await inTime(run.flushed(10_000))).toBe(true);
      expect(run.counts).toMatchObject({ written: 4, lost: 0 });
      expect(problems.length).toBeGreaterThan(0);
    });

    it('with what it reports: that is counted, told, and shows in the comparison', async () => {
      await share(100);
      const problems: unknown[] = [];
      const onProblem = (error: unknown): never => {
        problems.push(error);
        throw new Error('and the callback fails too');
      };
      const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING, onProblem });
      const cycle: Record<string, unknown> = {};
      cycle.self = cycle;
      run.step({ key: '', step: 'plan' });
      run.step({ key: 'x', step: '~report' });
      run.step({ key: 'c', step: 'plan', belief: cycle });
      run.step({ key: 'b', step: 'plan', output: 1n });
      run.step({ key: 'large', step: 'plan', belief: { text: 'x'.repeat(20_000) } });
      run.step({ key: 'tokens', step: 'plan', tokens: -1 });
      reportAll(run, 1);
      await inTime(run.flushed());
      expect(run.counts).toMatchObject({ written: 3, lost: 6, waiting: 0 });
      expect(problems).toHaveLength(6);
      const account = await world.client.shadows.account('agent');
      expect(account).toMatchObject({ agreedCount: 0, incompleteCount: 1, differences: [] });
    });

    it('with a corrupt row: after some tries the report is given up', async () => {
      await share(100);
      const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
      world.ports.store.on('checkpoints', () => {
        throw new CorruptError('rows-incomplete', 'broken');
      });
      run.step(reportsOf(0)[0]!);
      await inTime(run.flushed(300_000), 400_000);
      expect(run.counts).toMatchObject({ written: 0, lost: 1, failures: 10 });
      world.ports.store.on('checkpoints', undefined);
      run.done(1);
      await inTime(run.flushed());
      expect(run.counts).toMatchObject({ written: 1 });
    });

    it('by taking memory without bound', async () => {
      await share(100);
      const release = log.hold();
      const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
      for (let n = 0; n < SHADOW_BUFFER_MAX_COUNT + 5; n++) run.step({ key: `${n}`, step: 'plan' });
      expect(run.counts).toMatchObject({ lost: 5, waiting: SHADOW_BUFFER_MAX_COUNT });
      release();
      await inTime(run.flushed(120_000), 200_000);
      expect(run.counts).toMatchObject({ written: SHADOW_BUFFER_MAX_COUNT, waiting: 0 });
    });

    it('by an id that workers run', async () => {
      await share(100);
      await world.start(definitionOf({ name: 'agent', steps: { a: () => ({ done: 1 }) } }), null, { id: 'a' });
      await world.projected();
      const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
      reportAll(run, 1);
      await inTime(run.flushed());
      expect(run.counts).toMatchObject({ written: 0, lost: 3, waiting: 0 });
      expect(await typesFor('a')).toEqual(['WorkflowOpened']);
    });
  });

  describe('in a share', () => {
    const ids = Array.from({ length: 2_000 }, (_, n) => `run-${n}`);
    const inside = (percent: number): readonly string[] =>
      ids.filter((id) => isInShare(id as WorkflowId, asShare(percent), sha256Digest));

    it('is always the same, near the share, and kept when the share is raised', () => {
      expect(inside(0)).toEqual([]);
      expect(inside(100)).toEqual(ids);
      for (const [small, large] of [
        [1, 10],
        [10, 50],
        [50, 100],
      ] as const) {
        const all = new Set(inside(large));
        expect(inside(small).every((id) => all.has(id))).toBe(true);
      }
      expect(inside(10).length).toBeGreaterThan(150);
      expect(inside(10).length).toBeLessThan(250);
      expect(() => asShare(20)).toThrow(/20 %/);
    });

    it('is recorded, and outside of it nothing is written or kept', async () => {
      await share(50);
      const half = new Set(inside(50));
      const some = ids.slice(0, 8);
      const runs = some.map((id) => world.client.shadow(AGENT, { id, ...BEGINNING }));
      for (const run of runs) reportAll(run, 1);
      for (const run of runs) await inTime(run.flushed());
      expect(runs.map((run) => run.observed)).toEqual(some.map((id) => half.has(id)));
      expect(runs.map((run) => run.counts.written)).toEqual(some.map((id) => (half.has(id) ? 3 : 0)));
      expect(runs.every((run) => run.counts.waiting === 0 && run.counts.lost === 0)).toBe(true);
    });

    it('of a roll-out that was never begun: nothing is observed', async () => {
      const run = world.client.shadow(AGENT, { id: 'a', ...BEGINNING });
      reportAll(run, 1);
      await inTime(run.flushed());
      expect(run.observed).toBe(false);
      expect(world.ports.store.placements.size).toBe(0);
      const before = log.appendCount;
      await quiet();
      run.step(reportsOf(1)[0]!);
      expect([log.appendCount, run.counts.waiting]).toEqual([before, 0]);
    });
  });
});
