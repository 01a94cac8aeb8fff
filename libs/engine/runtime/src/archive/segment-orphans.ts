/**
 * Owns the removal of segment objects that no manifest names: their writer died before it created the manifest, or another writer's
 * manifest won. A reader of all of `segments/` would otherwise see their events twice, and no policy would ever delete them.
 *
 * U1 An object is removed only if the manifest of its first offset exists and names another object. That manifest is created once and never
 *    changes, so no compactor, however slow, can name the object any more. Without a manifest the object stays, because a writer may be
 *    about to name it. What a listing lacks stays until the next search.
 * U2 And only if the segment that counts is whole, or was deleted by a policy: a wrong manifest removes no history.
 */

import { CorruptError, type Partition, TidemarkError, UnavailableError } from '@tidemark/core';
import type { Clock, ProjectionStore, SegmentRow } from '@tidemark/ports';
import { parseSegmentName, type SegmentPlace, segmentPrefix } from '@tidemark/segments';
import { isArchivedObject } from '../history/index.ts';
import type { Archive, KnownManifest } from './archive.ts';
import { isProvedDeleted, isReported } from './deletions.ts';
import { SEGMENTS_PAGE_COUNT } from './limits.ts';

/** Pause between two searches of a partition for objects that no manifest names, in milliseconds. */
export const ORPHANS_POLL_MS = 86_400_000;

export interface SegmentOrphansOptions {
  readonly archive: Archive;
  readonly store: Pick<ProjectionStore, 'segments' | 'memories'>;
  readonly clock: Clock;
  readonly onError: (where: string, error: unknown) => void;
}

export class SegmentOrphans {
  readonly #options: SegmentOrphansOptions;
  /** When each partition was last searched, on the monotonic clock. */
  readonly #searchedMs = new Map<Partition, number>();

  constructor(options: SegmentOrphansOptions) {
    this.#options = options;
  }

  /** Searches the partition, unless that was done recently. */
  async poll(partition: Partition): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - (this.#searchedMs.get(partition) ?? Number.NEGATIVE_INFINITY) < ORPHANS_POLL_MS) return;
    const kept = await this.#indexed(partition);
    for (const place of await this.#listed(partition, segmentPrefix(partition))) {
      if (!kept.has(place.name)) await this.#attempt(place);
    }
    this.#searchedMs.set(partition, nowMs);
  }

  /** Removes the other objects that begin at the same offset as this segment, which the caller has just verified. */
  async beside({ partition, from, object }: KnownManifest): Promise<void> {
    for (const { name } of await this.#listed(partition, segmentPrefix(partition, from))) {
      if (name !== object) await this.#options.archive.warm.remove(name);
    }
  }

  /** Makes the next search due at once: another compactor had the partition meanwhile, or something failed. */
  forget(isForgotten: (partition: Partition) => boolean): void {
    for (const partition of this.#searchedMs.keys()) if (isForgotten(partition)) this.#searchedMs.delete(partition);
  }

  /** Objects that manifests name and that may exist. One that the index lacks only costs a read of its manifest. */
  async #indexed(partition: Partition): Promise<ReadonlySet<string>> {
    const objects = new Set<string>();
    for (let after: SegmentRow | undefined; ; ) {
      const query = { partition, limit: SEGMENTS_PAGE_COUNT, ...(after !== undefined && { after }) };
      const page: readonly SegmentRow[] = await this.#options.store.segments(query);
      for (const { object, tier } of page) if (tier !== 'deleted') objects.add(object);
      if (page.length < SEGMENTS_PAGE_COUNT) return objects;
      after = page.at(-1);
    }
  }

  async #listed(partition: Partition, prefix: string): Promise<readonly Named[]> {
    const named: Named[] = [];
    for await (const name of this.#options.archive.warm.list(prefix)) {
      const place = parseSegmentName(name);
      if (place?.partition === partition) named.push({ ...place, name });
    }
    return named;
  }

  /** An object that can't be judged does not hold up the others, nor the partition. */
  async #attempt(place: Named): Promise<void> {
    try {
      if (await this.#isOrphan(place)) await this.#options.archive.warm.remove(place.name);
    } catch (error) {
      if (!(error instanceof TidemarkError) || error instanceof UnavailableError) throw error;
      this.#options.onError(`object ${place.name}`, error);
    }
  }

  /** U1, U2. An object that its own manifest names is an orphan if a policy deleted it and a slow writer brought it back. */
  async #isOrphan({ partition, from, name }: Named): Promise<boolean> {
    const { archive, store } = this.#options;
    const manifest = await archive.manifestFrom(partition, from);
    if (manifest === undefined) return false;
    if (manifest.object === name) return isProvedDeleted(archive, store, manifest);
    try {
      await archive.records(manifest);
    } catch (error) {
      const isDeleted = error instanceof CorruptError && error.code === 'segment-deleted';
      if (isDeleted && !(await isReported(store, manifest))) return false;
      if (!isDeleted && !isArchivedObject(error)) throw error;
    }
    return true;
  }
}

interface Named extends SegmentPlace {
  readonly name: string;
}
