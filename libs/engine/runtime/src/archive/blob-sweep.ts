/**
 * Owns the removal of blobs that nothing references any more: after a crash between a blob and its event, or after segments or rows were
 * deleted. There is at most one sweep a period. Each records its findings in the archive, so it does not matter which process makes the
 * next.
 *
 * B3 A blob goes in three steps, at least a period apart. A sweep finds it unreferenced. The next sweep, which finds the same, moves it
 *    aside, where readers still find it. The one after that deletes it there, or moves it back if something references it by then.
 * B4 If anything that may reference a blob can't be read, nothing moves.
 * B5 One sweep moves blobs at a time. Each records its plan before it acts; of two that planned at once, the one whose note was written
 *    acts. It acts for at most half a period, and the next sweep begins at least a whole period later. The next one finds what it left
 *    undone: a blob in both places counts as put again, and a blob aside that was to be deleted is deleted.
 *
 * Why aside: a writer whose bytes are already stored writes nothing, and references them a moment later. A sweep may find them unreferenced
 * in between, and deleting them would lose a payload. Once they are aside, a writer stores them again; and a writer that found them before
 * that has referenced them long before the next sweep (B1: within BLOB_FRESH_MS, or it stores them again).
 */

import { CorruptError } from '@tidemark/core';
import type { BlobStore } from '@tidemark/ports';
import type { Pace, Ports } from '../kernel/index.ts';
import type { BlobStores } from '../views/index.ts';
import type { Archive } from './archive.ts';
import { BlobReferences } from './blob-references.ts';
import { lastNote, type NumberedNote, writeNote } from './sweep-notes.ts';

/** Pause between two sweeps of blobs, in milliseconds; a blob is deleted once three sweeps found no reference to it. */
const BLOB_SWEEP_PERIOD_MS = 86_400_000;

export interface BlobSweepOptions {
  /** `log`: the log itself. */
  readonly ports: Pick<Ports, 'log' | 'store' | 'telemetry' | 'clock'>;
  readonly archive: Archive;
  readonly blobs: BlobStores;
  readonly pace: Pace;
  /** A time on which all clocks agree; throws when they don't. */
  readonly nowMs: () => Promise<number>;
  /** Time between two sweeps, in milliseconds. */
  readonly periodMs?: number | undefined;
  readonly onError: (where: string, error: unknown) => void;
}

export interface SweepReport {
  /** False: none was due. Everything else is then 0. */
  readonly isDone: boolean;
  readonly blobCount: number;
  /** Unreferenced blobs that stay for now; and blobs that were moved aside, moved back and deleted. */
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
    const { archive, blobs, ports, nowMs, periodMs = BLOB_SWEEP_PERIOD_MS } = this.#options;
    const last = await lastNote(archive.warm);
    if (last !== undefined && (await nowMs()) - last.note.atMs < periodMs) return NO_SWEEP;
    // Listed before references are read: this sweep ignores later blobs.
    const [live, aside] = [await digestsIn(blobs.live), await digestsIn(blobs.aside)];
    const named = live.size + aside.size === 0 ? new Set<string>() : await this.#references.all(signal);
    const plan = planOf({ live, aside, named, last });
    const untilMs = ports.clock.monotonicMs() + periodMs / 2;
    const note = { atMs: await nowMs(), unnamed: plan.found, aside: [...plan.kept, ...plan.out], deleted: plan.gone };
    // B5.
    if (!(await writeNote(archive.warm, { number: (last?.number ?? 0) + 1, note }))) return NO_SWEEP;
    const moved = await this.#move(plan, untilMs, signal);
    return { isDone: true, blobCount: live.size, unnamedCount: plan.found.length, ...moved };
  }

  async #move({ back, gone, out }: Plan, untilMs: number, signal: AbortSignal): Promise<Moved> {
    const { blobs, ports } = this.#options;
    const moved = { asideCount: 0, returnedCount: 0, deletedCount: 0 };
    const mayMove = (): boolean => {
      signal.throwIfAborted();
      return ports.clock.monotonicMs() < untilMs;
    };
    for (const digest of back) {
      if (mayMove() && (await this.#carry(digest, blobs.aside, blobs.live))) moved.returnedCount++;
    }
    for (const digest of gone) {
      if (!mayMove()) break;
      await blobs.aside.delete(digest);
      moved.deletedCount++;
      ports.telemetry.count('blobs_collected_total', 1);
    }
    for (const digest of out) {
      if (mayMove() && (await this.#carry(digest, blobs.live, blobs.aside))) moved.asideCount++;
    }
    return moved;
  }

  /** A damaged blob stays where it is and is reported; a missing one was moved by another sweep. */
  async #carry(digest: string, from: BlobStore, to: BlobStore): Promise<boolean> {
    try {
      const bytes = await from.get(digest);
      await to.put(bytes);
      // Whatever other processes do, one place must have it.
      if (!(await to.has(digest))) return false;
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

type Moved = Pick<SweepReport, 'asideCount' | 'returnedCount' | 'deletedCount'>;

/** The plan of a sweep, as lists of digests. */
interface Plan {
  /** Aside, and referenced again. */
  readonly back: readonly string[];
  /** Aside, and unreferenced in the last sweep too. */
  readonly gone: readonly string[];
  /** Aside, at the earliest since the last sweep. */
  readonly kept: readonly string[];
  /** Unreferenced for the first time; they stay. */
  readonly found: readonly string[];
  /** Unreferenced in the last sweep too. */
  readonly out: readonly string[];
}

/** B3. */
function planOf({ live, aside, named, last }: Found): Plan {
  const [before, asideBefore] = [new Set(last?.note.unnamed), new Set(last?.note.aside)];
  for (const digest of last?.note.deleted ?? []) asideBefore.add(digest);
  const unnamed = (digests: ReadonlySet<string>): string[] => [...digests].filter((digest) => !named.has(digest));
  return {
    back: [...aside].filter((digest) => named.has(digest)),
    gone: unnamed(aside).filter((digest) => asideBefore.has(digest)),
    kept: unnamed(aside).filter((digest) => !asideBefore.has(digest)),
    found: unnamed(live).filter((digest) => !before.has(digest)),
    out: unnamed(live).filter((digest) => before.has(digest)),
  };
}

async function digestsIn(store: BlobStore): Promise<ReadonlySet<string>> {
  const digests = new Set<string>();
  for await (const digest of store.list()) digests.add(digest);
  return digests;
}
