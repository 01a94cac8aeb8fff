/**
 * Owns taking away objects of segments that no manifest names: their writer died before it created the manifest, or after another's did
 * count. Whoever reads all of `segments/` would have their events twice, and no policy would ever delete them.
 *
 * U1 An object goes only where the manifest of its beginning is there and names another one. That manifest is created once and never
 *    changes, so no compactor can name the object any more, however slow it is. Where there is none yet, the object stays: somebody may
 *    be about to name it. What a listing lacks stays until the next look.
 * U2 And only where the segment that counts is whole, or was deleted as a policy says: a manifest that is wrong takes no history away.
 */

import { CorruptError, type Partition, TidemarkError, UnavailableError } from '@tidemark/core';
import type { Clock, ProjectionStore, SegmentRow } from '@tidemark/ports';
import { parseSegmentName, type SegmentPlace, segmentPrefix } from '@tidemark/segments';
import { isArchivedObject } from '../history/index.ts';
import type { Archive, KnownManifest } from './archive.ts';
import { isProvedDeleted, isReported } from './deletions.ts';
import { ORPHANS_POLL_MS, SEGMENTS_PAGE_COUNT } from './limits.ts';

export interface SegmentOrphansOptions {
  readonly archive: Archive;
  readonly store: Pick<ProjectionStore, 'segments' | 'memories'>;
  readonly clock: Clock;
  readonly onError: (where: string, error: unknown) => void;
}

export class SegmentOrphans {
  readonly #options: SegmentOrphansOptions;
  /** When a partition was looked through last, by the monotonic clock. */
  readonly #lookedMs = new Map<Partition, number>();

  constructor(options: SegmentOrphansOptions) {
    this.#options = options;
  }

  /** Looks through the partition, unless it did so lately. */
  async poll(partition: Partition): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - (this.#lookedMs.get(partition) ?? Number.NEGATIVE_INFINITY) < ORPHANS_POLL_MS) return;
    const kept = await this.#indexed(partition);
    for (const place of await this.#listed(partition, segmentPrefix(partition))) {
      if (!kept.has(place.name)) await this.#attempt(place);
    }
    this.#lookedMs.set(partition, nowMs);
  }

  /** Those that begin where a segment does that was proved by the caller just now. */
  async beside({ partition, from, object }: KnownManifest): Promise<void> {
    for (const { name } of await this.#listed(partition, segmentPrefix(partition, from))) {
      if (name !== object) await this.#options.archive.warm.remove(name);
    }
  }

  /** The next look is due at once: the partition was another compactor's meanwhile, or something went wrong. */
  forget(isForgotten: (partition: Partition) => boolean): void {
    for (const partition of this.#lookedMs.keys()) if (isForgotten(partition)) this.#lookedMs.delete(partition);
  }

  /** Objects that manifests name and that may be there. What the index lacks costs a read of its manifest, and no more. */
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

  /** One of which nothing can be told keeps no other, and nothing of the partition, waiting. */
  async #attempt(place: Named): Promise<void> {
    try {
      if (await this.#isOrphan(place)) await this.#options.archive.warm.remove(place.name);
    } catch (error) {
      if (!(error instanceof TidemarkError) || error instanceof UnavailableError) throw error;
      this.#options.onError(`object ${place.name}`, error);
    }
  }

  /** U1, U2. One that its own manifest names goes where a policy deleted it and a slow writer brought it back. */
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
