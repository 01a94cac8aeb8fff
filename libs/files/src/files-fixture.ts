/** Owns a small Tidemark in memory for the tests of the file view: a pipeline, its host, a folder. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { MemoryWrite } from '@tidemark/codec';
import { Host } from '@tidemark/host';
import { noTelemetry } from '@tidemark/ports';
import { createMemoryHints, createMemoryLiveness, createMemoryQueue } from '@tidemark/queue-memory';
import { type Definition, sha256Digest, systemClock, systemPrng } from '@tidemark/runtime';
import { openPgliteStore } from '@tidemark/store-postgres';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import type { FilesReport } from './reports.ts';
import type { WayBack } from './way-back.ts';

const PARTITIONS = 16;

export interface FilesWorld {
  readonly host: Host;
  readonly folder: string;
  /** What was told, in words. */
  readonly told: string[];
  readonly onReport: (report: FilesReport) => void;
  /** What came back, as it was asked for. */
  readonly signals: {
    readonly workflow: string;
    readonly name: string;
    readonly value: unknown;
    readonly key: string;
  }[];
  readonly writes: MemoryWrite[];
  readonly back: WayBack;
  close(): Promise<void>;
}

export async function filesWorld(definitions: readonly Definition[]): Promise<FilesWorld> {
  const store = await openPgliteStore({ memory: true });
  const [queue, hints, liveness] = [createMemoryQueue(), createMemoryHints(), createMemoryLiveness()];
  const ports = { log: new SimulatedLog(PARTITIONS), store, queue, hints, liveness };
  const system = { telemetry: noTelemetry, clock: systemClock, prng: systemPrng, digest: sha256Digest };
  const host = new Host({ ...ports, ...system }, async () => {
    await queue.close();
    await store.close();
  });
  await host.startCoordinator();
  await host.startWorker({ definitions, concurrency: 4 });
  const parent = await mkdtemp(path.join(os.tmpdir(), 'tidemark-files-'));
  const told: string[] = [];
  const signals: FilesWorld['signals'] = [];
  const writes: MemoryWrite[] = [];
  return {
    host,
    folder: path.join(parent, 'files'),
    told,
    onReport: ({ kind, message }) => told.push(`${kind}: ${message}`),
    signals,
    writes,
    back: {
      async signal(workflow, name, value, { key }) {
        signals.push({ workflow, name, value, key });
        await host.client.signal(workflow, name, value, { key });
      },
      async remember(_subject, given) {
        writes.push(...given);
      },
    },
    async close() {
      await host.close();
      await rm(parent, { recursive: true, force: true });
    },
  };
}
