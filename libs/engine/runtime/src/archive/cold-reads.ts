/**
 * Owns requests for history in a class that is readable only after a recall. It requests everything that a partition's fold will need, once
 * for each object, and lets some time pass before the next attempt. It never waits: the fold does other work meanwhile.
 */

import { isoTime, type Offset, type Partition, TidemarkError, UnavailableError } from '@tidemark/core';
import type { Clock, Recall } from '@tidemark/ports';
import type { ColdHistory, DeletedStretch } from '../kernel/index.ts';
import type { Archive, KnownManifest } from './archive.ts';
import { stateAfter } from './archived-state.ts';

/** Pause between two attempts to read recalled history, in milliseconds; and objects that are requested at once. */
const RECALL_POLL_MS = 60_000;
const RECALLS_AT_ONCE = 16;

export interface ColdReadsOptions {
  readonly archive: Archive;
  readonly clock: Clock;
}

/** Details of `history-recalled`. */
export interface RecalledHistory {
  readonly partition: Partition;
  readonly objectCount: number;
  /** When all of it is likely to be readable; null: unknown. */
  readonly expectedAtMs: number | null;
}

export const recalledIn = (error: unknown): RecalledHistory | undefined =>
  error instanceof TidemarkError && error.code === 'history-recalled'
    ? (error.details as unknown as RecalledHistory)
    : undefined;

export class ColdReads implements ColdHistory {
  readonly #options: ColdReadsOptions;
  /** Objects that were requested: small, and as many as there are cold segments. */
  readonly #asked = new Set<string>();
  /** When the next attempt is due, on the monotonic clock. */
  readonly #retryAtMs = new Map<Partition, number>();

  constructor(options: ColdReadsOptions) {
    this.#options = options;
  }

  isCold(partition: Partition): boolean {
    const retryAtMs = this.#retryAtMs.get(partition);
    return retryAtMs !== undefined && this.#options.clock.monotonicMs() < retryAtMs;
  }

  /** Also throws what `Archive.recall` throws. */
  async ask(partition: Partition, from: Offset, error: unknown): Promise<UnavailableError | undefined> {
    const { archive, clock } = this.#options;
    const first = await archive.manifestAt(partition, from);
    if (first === undefined) throw error;
    this.#retryAtMs.set(partition, clock.monotonicMs() + RECALL_POLL_MS);
    if (this.#asked.has(first.object)) {
      // Its readable copy may have come and expired.
      await archive.recall(first);
      return undefined;
    }
    const recalls = await this.#recallFrom(first);
    if (recalls.length === 0) {
      // It has become readable meanwhile.
      this.#retryAtMs.delete(partition);
      return undefined;
    }
    const expectedAtMs = latestOf(recalls.map((recall) => recall.expectedAtMs));
    return reported({ partition, objectCount: recalls.length, expectedAtMs }, first);
  }

  async behind(partition: Partition, from: Offset): Promise<DeletedStretch | undefined> {
    const { archive } = this.#options;
    const manifest = await archive.manifestAt(partition, from);
    return manifest && { after: await stateAfter(archive, manifest), workflows: manifest.workflows };
  }

  async #recallFrom(first: KnownManifest): Promise<readonly Extract<Recall, { state: 'recalling' }>[]> {
    const { archive } = this.#options;
    const recalling: Extract<Recall, { state: 'recalling' }>[] = [];
    let page: KnownManifest[] = [];
    const ask = async (): Promise<void> => {
      const asking = page.map(async (manifest) => {
        const recall = await archive.recall(manifest);
        if (recall.state !== 'recalling') return;
        this.#asked.add(manifest.object);
        recalling.push(recall);
      });
      await Promise.all(asking);
      page = [];
    };
    for await (const manifest of archive.manifests(first.partition, first.from)) {
      if (!this.#asked.has(manifest.object)) page.push(manifest);
      if (page.length >= RECALLS_AT_ONCE) await ask();
    }
    await ask();
    return recalling;
  }
}

/** The latest time; null if one of them is unknown. */
export const latestOf = (times: readonly (number | null)[]): number | null =>
  times.reduce((latest, atMs) => (latest === null || atMs === null ? null : Math.max(latest, atMs)));

function reported(history: RecalledHistory, { from }: KnownManifest): UnavailableError {
  const { partition, objectCount, expectedAtMs } = history;
  return new UnavailableError(
    'history-recalled',
    `The history of partition ${partition} from ${from} on is in a storage class that is read only after a recall. ${objectCount} objects were requested and are expected ${expectedText(expectedAtMs)}; its rows wait until then, and resume by themselves.`,
    { ...history },
  );
}

export const expectedText = (expectedAtMs: number | null): string =>
  expectedAtMs === null ? 'at an unknown time (hours, for most classes)' : `by ${isoTime(expectedAtMs)}`;
