/** Owns one process's views of the simulated Redis: the ports of jobs, hints and beats, as their adapters keep them. */

import type { HolderId } from '@tidemark/core';
import {
  buildsOf,
  type HintBus,
  type Job,
  type JobQueue,
  type Liveness,
  type LivenessView,
  routeKey,
} from '@tidemark/ports';
import type { Network } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { HintListener, JobConsumer, SimulatedRedis } from './redis.ts';

interface ViewDependencies {
  readonly redis: SimulatedRedis;
  readonly network: Network;
  readonly process: SimulatedProcess;
}

export function queueView({ redis, network, process }: ViewDependencies): JobQueue {
  const call = <T>(operation: string, effect: () => T): Promise<T> => network.call(process, 'redis', operation, effect);
  return {
    enqueue: (jobs: readonly Job[]) => call('enqueue', () => redis.enqueue(jobs)),
    consume: async ({ routes, concurrency }, handle) => {
      const consumer: JobConsumer = {
        process,
        routes: new Set(routes.map(routeKey)),
        concurrency,
        handle,
        underWayCount: 0,
      };
      await call('consume', () => redis.consume(consumer));
      // The consumer does both itself, and awaits no answer.
      const pause = async (): Promise<void> => redis.forget(consumer);
      const narrow = (max = concurrency): void => redis.narrow(consumer, Math.min(max, concurrency));
      return { pause, close: pause, narrow };
    },
    depth: (definitions) => call('depth', () => new Map(definitions.map((name) => [name, redis.depth(name)]))),
    close: async () => {},
  };
}

export function hintsView({ redis, network, process }: ViewDependencies): HintBus {
  return {
    publish: (topic, partition) => {
      if (!process.isDead && !network.isCut(process, 'redis')) redis.publish(topic, partition);
    },
    subscribe: async (topic, report) => {
      const listener: HintListener = { process, topic, report };
      redis.listeners.add(listener);
      return async () => {
        redis.listeners.delete(listener);
      };
    },
    close: async () => {},
  };
}

/** Where holders' connections end: each coordinator's callbacks, and whose process's end it has seen. */
export type Watchers = Set<{
  readonly process: SimulatedProcess;
  readonly onGone: (holder: HolderId) => void;
  readonly ended: Set<HolderId>;
}>;

export function livenessView(
  dependencies: ViewDependencies,
  watchers: Watchers,
): Liveness & { vanish(holder: HolderId): Promise<void> } {
  const { redis, network, process } = dependencies;
  const call = <T>(operation: string, effect: () => T): Promise<T> => network.call(process, 'redis', operation, effect);
  /** The marker seen in the unbroken run of views up to now, and since when. */
  let standing: { readonly marker: number; readonly sinceMs: number } | undefined;
  const view = async ({ markerAgeMs }: { readonly markerAgeMs: number }): Promise<LivenessView> => {
    const askedMs = process.monotonicMs();
    try {
      const { marker, holders, announced } = await call('view', () => redis.view());
      if (standing?.marker !== marker) standing = { marker, sinceMs: process.monotonicMs() };
      const isGone = (holder: HolderId): boolean =>
        [...watchers].some((watcher) => watcher.process === process && watcher.ended.has(holder));
      return {
        trusted: askedMs - standing.sinceMs >= markerAgeMs,
        holders,
        announced,
        builds: buildsOf(announced.values()),
        isGone,
      };
    } catch {
      standing = undefined;
      return { trusted: false, holders: new Map(), announced: new Map(), builds: new Map(), isGone: () => false };
    }
  };
  const leave = (holder: HolderId): Promise<void> => call('leave', () => redis.leave(holder)).catch(() => {});
  return {
    beat: (holder, leases, ttlMs, _stallMs, announced, onShare) => {
      if (onShare !== undefined) redis.sharers.set(holder, { process, onShare });
      const epochs = new Map(leases.map(({ workflow, epoch }) => [workflow, epoch]));
      return call('beat', () => redis.beat(holder, epochs, ttlMs, announced)).then(
        () => true,
        () => false,
      );
    },
    share: (holder, max) => redis.share(holder, max),
    leave,
    vanish: leave,
    watch: async (onGone: (holder: HolderId) => void) => {
      const watcher = { process, onGone, ended: new Set<HolderId>() };
      watchers.add(watcher);
      return async () => {
        watchers.delete(watcher);
      };
    },
    view,
    close: async () => {},
  } as Liveness & { vanish(holder: HolderId): Promise<void> };
}
