/**
 * A worker that is stopped (SIGSTOP) and goes on after another has taken over can do nothing that counts (I3, I4): what it
 * appends is rejected, its irreversible call is not made, and the output is that of an undisturbed run. One that is stopped within its call
 * makes it once, since nobody calls beside it; one that is killed (SIGKILL) within it is gone, and needs no person. And the hand-over at a
 * spot notice, which ends with exit code 0 and leaves nobody waiting for a dead lease.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { decodeRecord } from '@tidemark/codec';
import type { Envelope, Offset } from '@tidemark/core';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import { eventually } from '@tidemark/testkit/eventually';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { payments, slowPayment } from './zombie-workflows.ts';

const TIMEOUT_MS = 300_000;
const PAYMENTS = 3;
const ID = 'zombie';
/** Calls that are open in one worker at once. */
const OPEN_CALLS = 5;

describeServers('a worker that another has taken over from', ['kafka', 'redis', 'postgres'], (servers) => {
  const services: ServiceProcess[] = [];
  let env: Record<string, string>;
  let host: Host;
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-zombie-'));
    file = path.join(folder, 'paid');
    env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('zombie'),
      TIDEMARK_PARTITIONS: '2',
      TIDEMARK_ENCRYPTION: 'off',
      TIDEMARK_PARTITIONS_MAX: '2',
      TIDEMARK_WORKFLOWS: './test/integration/zombie-workflows.ts',
      TIDEMARK_SPOT_NOTICE_URL: pathToFileURL(path.join(folder, 'notice')).href,
    };
    host = await openCluster(configFromEnv(env));
  });

  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.kill()));
    await host.close();
    await rm(folder, { recursive: true });
  });

  const start = async (name: 'coordinator' | 'worker', more: Record<string, string> = {}): Promise<ServiceProcess> => {
    const service = await startService(name, { ...env, ...more });
    services.push(service);
    return service;
  };
  const linesOf = async (name: string): Promise<readonly string[]> =>
    (await readFile(name, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const hasBegun = (pid: number, n: number): Promise<unknown> =>
    eventually(async () => (await linesOf(`${file}.begun`)).includes(`${pid} ${n}`), { timeoutMs: TIMEOUT_MS });
  const hasPaid = (n: number): Promise<unknown> =>
    eventually(async () => (await linesOf(file)).length >= n, { timeoutMs: TIMEOUT_MS });
  const events = async (id = ID): Promise<readonly Envelope[]> => {
    // One has what workers register.
    const places = [0, 1].map((partition) => ({ partition: partition as never, from: 0 as Offset }));
    const results = await host.ports.log.read(places);
    return results
      .flatMap(({ records }) => records)
      .flatMap(({ value }) => {
        const decoded = decodeRecord(value);
        return decoded.kind === 'event' && decoded.envelope.workflow === id ? [decoded.envelope] : [];
      });
  };
  const claimants = async (): Promise<readonly string[]> =>
    (await events()).filter(({ type }) => type === 'LeaseClaimed').map(({ holder }) => holder);

  /** Stops the worker in its second step, waits until another has taken over and come to the end, and lets it go on. */
  const stopAndGoOn = async (thinkMs: number) => {
    await start('coordinator');
    const zombie = await start('worker');
    const run = await host.client.start(payments, { count: PAYMENTS, file, thinkMs }, { id: ID });
    await hasBegun(zombie.pid, 2);
    zombie.signal('SIGSTOP');
    await start('worker');
    expect(await run.result()).toEqual({ sum: (PAYMENTS * (PAYMENTS + 1)) / 2 });
    const before = (await events()).length;
    zombie.signal('SIGCONT');
    // What it had begun it may finish: it finds out as soon as it writes (that comes behind everything), or by a look at the log that was quicker.
    expect(await zombie.stop()).toBe(0);
    const hasWritten = (await events()).length > before;
    return { run, zombie, hasWritten };
  };

  it('makes no irreversible call, and nothing that it writes is accepted', { timeout: TIMEOUT_MS }, async () => {
    const { run, zombie, hasWritten } = await stopAndGoOn(1_000);
    const paid = (await linesOf(file)).map((line) => line.split(' '));
    expect(paid.map(([, n]) => n)).toEqual(['1', '2', '3']);
    expect(paid.filter(([pid]) => pid === String(zombie.pid)).map(([, n]) => n)).toEqual(['1']);
    const [first, heir] = await claimants();
    expect(heir).not.toBe(first);
    const checkpoints = await run.checkpoints();
    expect(checkpoints.map((row) => row.sequence)).toEqual([1, 2, 3]);
    const wrote = (await events()).filter(({ holder, type }) => holder === first && type === 'EffectIntended');
    // One for the first payment, and one that was rejected: without the fence (the fold's answer) it would have paid.
    expect(wrote).toHaveLength(hasWritten ? 2 : 1);
    if (!hasWritten) return;
    const rejected = await eventually(async () => {
      const rows = await host.ports.store.rejected(100);
      return rows.length > 0 && rows;
    });
    expect(new Set(rejected.map((row) => row.workflow))).toEqual(new Set([ID]));
  });

  it('pays where nobody has taken over: the same stop, without an heir (control)', {
    timeout: TIMEOUT_MS,
  }, async () => {
    await start('coordinator');
    const worker = await start('worker');
    const run = await host.client.start(payments, { count: PAYMENTS, file, thinkMs: 1_000 }, { id: ID });
    await hasBegun(worker.pid, 2);
    worker.signal('SIGSTOP');
    worker.signal('SIGCONT');
    expect(await run.result()).toEqual({ sum: 6 });
    const paid = (await linesOf(file)).map((line) => line.split(' ')[0]);
    expect(paid).toEqual([worker.pid, worker.pid, worker.pid].map(String));
  });

  /** Ends or stops the worker while each of its calls is under way, and lets an heir take over. */
  const loseWithinCalls = async (signal: 'SIGSTOP' | 'SIGKILL') => {
    await start('coordinator');
    const lost = await start('worker');
    const runs = await Promise.all(
      Array.from({ length: OPEN_CALLS }, (_, n) => host.client.start(slowPayment, { file, n }, { id: `slow-${n}` })),
    );
    await eventually(async () => (await linesOf(`${file}.calling`)).length === OPEN_CALLS, { timeoutMs: TIMEOUT_MS });
    lost.signal(signal);
    await start('worker');
    // From here on every call pays at once, also that of the lost worker if it ever runs again.
    await writeFile(`${file}.open`, '');
    const revoked = (await Promise.all(runs.map(({ id }) => revocation(id)))).map(({ control }) => control);
    return { lost, runs, revoked };
  };
  const revocation = (id: string): Promise<Envelope<'LeaseRevoked'>> =>
    eventually(async () => (await events(id)).find((event) => event.type === 'LeaseRevoked'), {
      timeoutMs: TIMEOUT_MS,
    }) as Promise<Envelope<'LeaseRevoked'>>;
  const questions = async (): Promise<readonly (string | undefined)[]> =>
    (await host.ports.store.workflows({ status: 'parked', limit: 100 })).map(({ question }) => question?.code);

  it('pays once where it was stopped within its call: a person is asked, and the probe decides', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { lost, runs, revoked } = await loseWithinCalls('SIGSTOP');
    expect(revoked).toEqual(runs.map(() => expect.objectContaining({ isGone: false })));
    await eventually(async () => (await questions()).length === OPEN_CALLS, { timeoutMs: TIMEOUT_MS });
    expect(new Set(await questions())).toEqual(new Set(['caller-silent']));
    expect(await linesOf(file)).toEqual([]);
    lost.signal('SIGCONT');
    await hasPaid(OPEN_CALLS);
    for (const { id } of runs) await host.client.decide(id, { resolution: 'retry', by: 'ann', why: 'it is back' });
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map(() => ({ ok: true })));
    const paid = (await linesOf(file)).map((line) => line.split(' '));
    expect(paid.map(([pid]) => pid)).toEqual(runs.map(() => String(lost.pid)));
    expect(new Set(paid.map(([, n]) => n)).size).toBe(OPEN_CALLS);
  });

  it('asks nobody where it was killed within its call, and another pays', { timeout: TIMEOUT_MS }, async () => {
    const { lost, runs, revoked } = await loseWithinCalls('SIGKILL');
    expect(revoked).toEqual(runs.map(() => expect.objectContaining({ reason: 'holder-dead', isGone: true })));
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map(() => ({ ok: true })));
    const paid = (await linesOf(file)).map((line) => line.split(' '));
    expect(new Set(paid.map(([, n]) => n)).size).toBe(OPEN_CALLS);
    expect([paid.length, paid.some(([pid]) => pid === String(lost.pid))]).toEqual([OPEN_CALLS, false]);
    expect((await Promise.all(runs.map(({ id }) => events(id)))).flat().map(({ type }) => type)).not.toContain(
      'WorkflowParked',
    );
  });

  it('hands over at a spot notice and exits with 0', { timeout: TIMEOUT_MS }, async () => {
    await start('coordinator');
    const leaving = await start('worker');
    const run = await host.client.start(payments, { count: PAYMENTS, file, thinkMs: 300 }, { id: ID });
    await hasPaid(1);
    const heir = await start('worker', { TIDEMARK_SPOT_NOTICE_URL: '' });
    await writeFile(path.join(folder, 'notice'), 'terminate');
    await eventually(() => !isRunning(leaving.pid), { timeoutMs: TIMEOUT_MS });
    expect(await leaving.stop()).toBe(0);
    expect(await run.result()).toEqual({ sum: 6 });
    expect((await linesOf(file)).map((line) => line.split(' ')[1])).toEqual(['1', '2', '3']);
    expect((await events()).filter(({ type }) => type === 'LeaseRevoked')).toEqual([]);
    expect(await heir.stop()).toBe(0);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
