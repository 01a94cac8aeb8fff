/**
 * Owns what a sleeping run takes of each process: a coordinator, and the worker that ran it until it slept; on the heap and in buffers, after a
 * collection.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '@tidemark/testkit/eventually';
import type { ServiceProcess } from '@tidemark/testkit/processes';
import { startClusterServers } from '@tidemark/testkit/servers';
import { median, type Report } from './report.ts';
import { sleeper } from './sleeper.ts';
import { type System, withSystem } from './system.ts';

const PARTITIONS = 4_096;
const STARTED_AT_ONCE = 250;
/** Run to their end before anything is measured: code is compiled, connections and caches are there. */
const WARM_UP_COUNT = 1_000;
/** What rows, hints and heartbeats left behind is collected with the next of theirs. */
const SETTLE_MS = 5_000;
const READINGS = 3;
const READING_PERIOD_MS = 1_000;

export async function measureMemory(count: number, report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-held-'));
  process.env.TIDEMARK_SERVICE_FLAGS = `--expose-gc --import=${path.join(import.meta.dirname, 'held-bytes.ts')}`;
  process.env.HELD_BYTES_FOLDER = folder;
  const servers = await startClusterServers({ dataIn: 'memory' });
  try {
    await withSystem(servers, 'sleepers', PARTITIONS, async (system, coordinator) => {
      const worker = await system.service('worker');
      await warmUp(system);
      const services = { coordinator, worker };
      const before = await heldOfAll(services, folder);
      await sleepAll(system, 'sleeper', count);
      for (const [name, bytes] of await heldOfAll(services, folder)) {
        report.add(`wakes.memory.${name}.bytes_each`, (bytes - before.get(name)!) / count, 'bytes');
      }
    });
  } finally {
    await servers.stop();
    await rm(folder, { recursive: true });
    delete process.env.TIDEMARK_SERVICE_FLAGS;
  }
}

/** Resolves once all of them have done their step. */
async function sleepAll(system: System, prefix: string, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, at) => `${prefix}-${at}`);
  const { client } = system.host;
  for (let at = 0; at < count; at += STARTED_AT_ONCE) {
    const some = ids.slice(at, at + STARTED_AT_ONCE);
    await Promise.all(some.map((id) => client.start(sleeper, { id }, { id })));
    await eventually(() => some.every((id) => system.watcher.checkpointCounts.has(id)), { timeoutMs: 60_000 });
  }
  return ids;
}

async function warmUp(system: System): Promise<void> {
  const { client } = system.host;
  const ids = await sleepAll(system, 'warm', WARM_UP_COUNT);
  await Promise.all(ids.map((id) => client.signal(id, 'go')));
  await Promise.all(ids.map((id) => client.run(id).result()));
}

async function heldOfAll(
  services: Readonly<Record<string, ServiceProcess>>,
  folder: string,
): Promise<ReadonlyMap<string, number>> {
  await wait(SETTLE_MS);
  const held = new Map<string, number>();
  for (const [name, service] of Object.entries(services)) {
    const readings: number[] = [];
    while (readings.length < READINGS) {
      readings.push(await heldBytes(service, folder));
      await wait(READING_PERIOD_MS);
    }
    held.set(name, median(readings));
  }
  return held;
}

async function heldBytes(service: ServiceProcess, folder: string): Promise<number> {
  const file = path.join(folder, String(service.pid));
  service.signal('SIGUSR2');
  const bytes = await eventually(() => readFile(file, 'utf8').then((text) => text || undefined));
  await rm(file);
  return Number(bytes);
}
