/**
 * Owns what the serving process knows of what is there: living workers and what they run, and paused queues. It is read once for all
 * callers of a moment.
 */

import type { There } from '@tidemark/core/timeline';
import { type Client, PausedQueues, type Ports, staffOf } from '@tidemark/runtime';
import { LIVENESS_MARKER_MS } from './shapes/fleet.ts';

/** Age up to which a view of what is there is used again, in milliseconds. */
const THERE_KEPT_MS = 1_000;
type Found = Pick<There, 'workers' | 'builds' | 'versions' | 'paused'>;
interface Source {
  readonly ports: Pick<Ports, 'clock' | 'liveness' | 'store'>;
  readonly client: Pick<Client, 'queues'>;
}

/** One of each serving process. */
export class WhatIsThere {
  #kept: { readonly atMs: number; readonly found: Promise<Found> } | undefined;

  found(source: Source): Promise<Found> {
    const atMs = source.ports.clock.monotonicMs();
    if (this.#kept !== undefined && atMs - this.#kept.atMs < THERE_KEPT_MS) return this.#kept.found;
    const found = read(source);
    this.#kept = { atMs, found };
    found.catch(() => {
      this.#kept = undefined;
    });
    return found;
  }
}

async function read({ ports: { liveness, store }, client }: Source): Promise<Found> {
  const [view, isReady] = await Promise.all([liveness.view({ markerAgeMs: LIVENESS_MARKER_MS }), store.ready()]);
  const queues = new PausedQueues(isReady ? await client.queues.held(null) : []);
  return { ...staffOf(view), paused: (of) => queues.of(of) };
}
