/**
 * Owns taking blobs away that nothing names any more: after a crash between a blob and its event, after segments or rows went. At most one
 * sweep a period; what each found is written down in the archive, so that it doesn't matter which process makes the next.
 *
 * B3 A blob goes in three steps, a period apart at least: a sweep finds it unnamed; the next one, which finds the same, puts it aside,
 *    where readers still find it; the one after that deletes it there, or brings it back where something names it by then.
 * B4 Where anything that may name a blob can't be read, nothing moves.
 *
 * Why aside: who puts bytes that are there already writes nothing, and names them a moment later. It may be between the two while a sweep
 * finds them unnamed, and deleting them then would lose a payload. Once they are aside, whoever puts them writes them anew; and who had
 * found them before that has named them long before the next sweep looks (B1: within BLOB_FRESH_MS, or it puts them again).
 */

import { CorruptError } from '@tidemark/core';
import type { BlobStore } from '@tidemark/ports';
import type { Archive } from './archive.ts';
import { BlobReferences } from './blob-references.ts';
import type { BlobStores } from './blobs.ts';
import { BLOB_SWEEP_PERIOD_MS } from './limits.ts';
import type { Pace } from './pace.ts';
import type { Ports } from './ports.ts';
import { lastNote, type NumberedNote, type SweepNote, writeNote } from './sweep-notes.ts';

export interface BlobSweepOptions {
  /** `log`: the log itself. */
  readonly ports: Pick<Ports, 'log' | 'store' | 'telemetry'>;
  readonly archive: Archive;
  readonly blobs: BlobStores;
  readonly pace: Pace;
  /** A time that all clocks agree to, or throws. */
  readonly nowMs: () => Promise<number>;
  /** Time between two sweeps, in milliseconds. */
  readonly periodMs?: number | undefined;
  readonly onError: (where: string, error: unknown) => void;
}

export interface SweepReport {
  /** False: none was due. Everything else is 0 then. */
  readonly isDone: boolean;
  readonly blobCount: number;
  /** Unnamed ones that stay where they are for now; those that were put aside, brought back and deleted. */
  readonly unnamedCount: number;
  readonly asideCount: number;
  readonly returnedCount: number;
  readonly deletedCount: number;
}

export const NO_SWEEP: SweepReport = {
  isDone: false,
  blobCount: 0,
  unnamedCount: 0,
  asideCount: 0,
  returnedCount: 0,
  deletedCount: 0,
};

export class BlobSweep {
  readonly #options: BlobSweepOptions;
  readonly #references: BlobReferences;

  constructor(options: BlobSweepOptions) {
    this.#options = options;
    const { ports, archive, pace } = options;
    this.#references = new BlobReferences({ ...ports, archive, pace });
  }

  /** Throws what reading throws (B4). */
  async run(signal: AbortSignal): Promise<SweepReport> {
    const { archive, blobs, nowMs, periodMs = BLOB_SWEEP_PERIOD_MS } = this.#options;
    const last = await lastNote(archive.warm);
    if (last !== undefined && (await nowMs()) - last.note.atMs < periodMs) return NO_SWEEP;
    // Before names are looked for: what comes later is none of this sweep's.
    const [live, aside] = [await digestsIn(blobs.live), await digestsIn(blobs.aside)];
    const named = live.size + aside.size === 0 ? new Set<string>() : await this.#references.all(signal);
    return this.#move({ live, aside, named, last }, signal);
  }

  async #move({ live, aside, named, last }: Found, signal: AbortSignal): Promise<SweepReport> {
    const { blobs, ports, archive, nowMs } = this.#options;
    const [before, asideBefore] = [new Set(last?.note.unnamed), new Set(last?.note.aside)];
    const done = { aside: new Set<string>(), returned: [] as string[], deleted: [] as string[] };
    const unnamed: string[] = [];
    for (const digest of aside) {
      signal.throwIfAborted();
      if (named.has(digest)) {
        if (await this.#carry(digest, blobs.aside, blobs.live)) done.returned.push(digest);
      } else if (asideBefore.has(digest)) {
        await blobs.aside.delete(digest);
        done.deleted.push(digest);
      } else done.aside.add(digest);
    }
    const keptCount = done.aside.size;
    for (const digest of live) {
      signal.throwIfAborted();
      if (named.has(digest)) continue;
      if (!before.has(digest)) unnamed.push(digest);
      else if (await this.#carry(digest, blobs.live, blobs.aside)) done.aside.add(digest);
    }
    // The time since then counts from the last of its moves (B3).
    const note: SweepNote = { atMs: await nowMs(), unnamed, aside: [...done.aside], deleted: done.deleted };
    await writeNote(archive.warm, { number: (last?.number ?? 0) + 1, note });
    if (done.deleted.length > 0) ports.telemetry.count('blobs_collected_total', done.deleted.length);
    return {
      isDone: true,
      blobCount: live.size,
      unnamedCount: unnamed.length,
      asideCount: done.aside.size - keptCount,
      returnedCount: done.returned.length,
      deletedCount: done.deleted.length,
    };
  }

  /** One that is damaged stays where it is, and is told; one that is gone was carried by another sweep. */
  async #carry(digest: string, from: BlobStore, to: BlobStore): Promise<boolean> {
    try {
      const bytes = await from.get(digest);
      await to.put(bytes);
      await from.delete(digest);
      await this.#options.pace.spent(bytes.length);
      return true;
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      if (error.code !== 'blob-missing') this.#options.onError(`blob ${digest}`, error);
      return false;
    }
  }
}

interface Found {
  readonly live: ReadonlySet<string>;
  readonly aside: ReadonlySet<string>;
  readonly named: ReadonlySet<string>;
  readonly last: NumberedNote | undefined;
}

async function digestsIn(store: BlobStore): Promise<ReadonlySet<string>> {
  const digests = new Set<string>();
  for await (const digest of store.list()) digests.add(digest);
  return digests;
}
