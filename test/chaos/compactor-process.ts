/**
 * Owns one life of a compactor in the run that kills it: `node compactor-process.ts WITNESS POLICY`. It is the product's compactor on the
 * product's ports, with a policy of tiny segments (JSON), and differs from the service in three ways. It waits less between passes. It
 * archives nothing that the witness, whose place is in the file WITNESS, has not seen in Kafka. And it tells each step as it begins,
 * so that it is known where it was killed.
 */

import { readFileSync, writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { configFromEnv, failureReporter, openCluster, runService } from '@tidemark/host';
import type { ProjectionStore } from '@tidemark/ports';
import { Archive, Compactor, type CompactorPolicy, Pace } from '@tidemark/runtime';
import { CHAOS_RANGE_TTL_MS } from './compactor-limits.ts';
import { stepLine } from './compactor-steps.ts';

const STANDARD_ERROR = 2;
const [witnessFile, policy] = process.argv.slice(2) as [string, string];

/** The port, telling the step that each call begins, where it begins one. */
function announcing<Port extends object>(
  port: Port,
  stepOf: (call: string, first: unknown) => string | undefined,
): Port {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        const step = stepOf(String(name), given[0]);
        // Written at once: a kill must not find it in a buffer.
        if (step !== undefined) writeSync(STANDARD_ERROR, stepLine(step));
        return member.apply(target, given);
      };
    },
  });
}

/** No floor before the witness, and a short time to live of ranges. */
function holding(store: ProjectionStore): ProjectionStore {
  const floors: ProjectionStore['floors'] = async (...given) => {
    const found = await store.floors(...given);
    const seen = JSON.parse(readFileSync(witnessFile, 'utf8')) as readonly number[];
    return found.map((each) => ({
      ...each,
      floor: Math.min(each.floor, seen[each.partition] ?? 0) as typeof each.floor,
    }));
  };
  const shareRanges: ProjectionStore['shareRanges'] = (owner, _ttlMs, role) =>
    store.shareRanges(owner, CHAOS_RANGE_TTL_MS, role);
  return new Proxy(store, {
    get: (target, name) =>
      name === 'floors' ? floors : name === 'shareRanges' ? shareRanges : Reflect.get(target, name),
  });
}

const isSegment = (name: unknown): boolean => String(name).startsWith('segments/');
const objectSteps: Readonly<Record<string, (name: unknown) => string>> = {
  create: (name) => (isSegment(name) ? 'object' : 'manifest'),
  read: (name) => (isSegment(name) ? 'read-back' : 'look'),
};
const storeSteps: Readonly<Record<string, string>> = { floors: 'floors', recordSegments: 'record', dropRows: 'drop' };

await runService('compactor', async () => {
  const host = await openCluster(configFromEnv(process.env));
  const { hot, archive } = host.tiers!;
  const compactor = new Compactor({
    ports: {
      ...host.ports,
      store: announcing(holding(host.ports.store), (call) => storeSteps[call]),
      log: announcing(hot, (call) => (call === 'read' || call === 'trim' ? call : undefined)),
    },
    deletions: host.client.memory,
    archive: new Archive({ warm: announcing(archive.warm, (call, name) => objectSteps[call]?.(name)) }),
    policy: JSON.parse(policy) as CompactorPolicy,
    pace: new Pace(host.ports.clock, Number.POSITIVE_INFINITY),
    name: `compactor-${crypto.randomUUID()}`,
    onError: failureReporter(),
    onSegment: ({ eventCount }) => writeSync(STANDARD_ERROR, stepLine('done', eventCount)),
  });
  compactor.start();
  // Else only a process that ends by itself would leave it to the next.
  flushCompileCache();
  return {
    health: () => compactor.health(),
    stop: async () => {
      await compactor.stop();
      await host.close();
    },
  };
});
