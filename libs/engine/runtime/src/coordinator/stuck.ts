/**
 * Owns which workers are there for which work, by what they announce; and the gauges of workflows that could run and that no living worker
 * takes, over all tenants: counts alone, never whose they are. Of a queue that a person paused none is stuck.
 */

import { type There, unserved, type WaitKind } from '@tidemark/core/timeline';
import { type LivenessView, type RunnableStream, routeKey, type Telemetry } from '@tidemark/ports';
import type { PausedQueues } from '../control/index.ts';
import { queuedAs } from '../lease/index.ts';

export type Staff = Pick<There, 'workers' | 'builds' | 'versions'>;

/** A missing worker proves nothing while the view is not trusted. */
export const staffOf = ({ trusted, holders, announced }: Omit<LivenessView, 'isGone' | 'builds'>): Staff => {
  const all = [...announced.values()];
  return {
    workers: trusted ? new Set(holders.keys()) : undefined,
    builds: ({ definition, version, pinned }) => {
      const key = routeKey({ definition: queuedAs(definition), version, pinned });
      return all.filter(({ serves }) => serves.includes(key)).map(({ build }) => build);
    },
    versions: (definition) => {
      const counts = new Map<number, number>();
      for (const key of all.flatMap(({ serves }) => serves)) {
        // A worker's own version is the one of which it runs pinned workflows too.
        const [, version, name] = /^(\d+)! (.*)$/s.exec(key) ?? [];
        if (name === queuedAs(definition)) counts.set(Number(version), (counts.get(Number(version)) ?? 0) + 1);
      }
      return counts;
    },
  };
};

const REASONS = ['no-worker', 'no-version'] as const satisfies readonly WaitKind[];

export class StuckGauges {
  readonly #telemetry: Pick<Telemetry, 'gauge'>;
  #staff: Staff | undefined;

  constructor(telemetry: Pick<Telemetry, 'gauge'>) {
    this.#telemetry = telemetry;
  }

  seen(view: LivenessView): void {
    this.#staff = staffOf(view);
  }

  /** Reports everything runnable. */
  found(streams: readonly RunnableStream[], held: PausedQueues): void {
    const staff = this.#staff;
    if (staff?.workers === undefined) return;
    const there = { ...staff, isIdle: false };
    const counts = new Map<WaitKind, number>(REASONS.map((reason) => [reason, 0]));
    const waiting = streams.filter((stream) => !held.has(stream));
    for (const alike of Map.groupBy(waiting, routeKey).values()) {
      const kind = unserved(alike[0]!, there)?.kind;
      if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + alike.length);
    }
    for (const reason of REASONS) this.#telemetry.gauge('workflows_stuck', counts.get(reason)!, { reason });
  }
}
