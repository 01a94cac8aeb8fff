/**
 * Owns taking blobs away that nothing names any more: after a crash between a blob and its event, after segments or rows went. At most one
 * sweep a period; what each found is written down in the archive, so that it doesn't matter which process makes the next.
 *
 * B3 A blob goes in three steps, a period apart at least: a sweep finds it unnamed; the next one, which finds the same, puts it aside,
 *    where readers still find it; the one after that deletes it there, or brings it back where something names it by then.
 * B4 Where anything that may name a blob can't be read, nothing moves.
 * B5 One sweep moves at a time. Each writes down what it is going to do before it does any of it; of two that looked at once, the one whose
 *    note is there moves. It moves for half a period and no longer, and none begins before a whole one has gone by. What it left undone is
 *    found by the next: what lies in both places counts as put anew, and what is still aside that was to be deleted goes then.
 *
 * Why aside: who puts bytes that are there already writes nothing, and names them a moment later. It may be between the two while a sweep
 * finds them unnamed, and deleting them then would lose a payload. Once they are aside, whoever puts them writes them anew; and who had
 * found them before that has named them long before the next sweep looks (B1: within BLOB_FRESH_MS, or it puts them again).
 */

import { CorruptError } from '@tidemark/core';
import type { BlobStore } from '@tidemark/ports';
import type { Pace, Ports } from '../kernel/index.ts';
import type { BlobStores } from '../views/index.ts';
import type { Archive } from './archive.ts';
import { BlobReferences } from './blob-references.ts';
import { BLOB_SWEEP_PERIOD_MS } from './limits.ts';
import { lastNote, type NumberedNote, writeNote } from './sweep-notes.ts';

export interface BlobSweepOptions {
  /** `log`: the log itself. */
  readonly ports: Pick<Ports, 'log' | 'store' | 'telemetry' | 'clock'>;
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
    const { archive, blobs, ports, nowMs, periodMs = BLOB_SWEEP_PERIOD_MS } = this.#options;
    const last = await lastNote(archive.warm);
    if (last !== undefined && (await nowMs()) - last.note.atMs < periodMs) return NO_SWEEP;
    // Before names are looked for: what comes later is none of this sweep's.
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

  /** One that is damaged stays where it is, and is told; one that is gone was carried by another sweep. */
  async #carry(digest: string, from: BlobStore, to: BlobStore): Promise<boolean> {
    try {
      const bytes = await from.get(digest);
      await to.put(bytes);
      // Whatever else is at work there, one place has it.
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

/** What a sweep is going to do. Lists of digests. */
interface Plan {
  /** They are aside, and named by now. */
  readonly back: readonly string[];
  /** They are aside, found so by the last sweep as well. */
  readonly gone: readonly string[];
  /** They are aside, since the last sweep at the earliest. */
  readonly kept: readonly string[];
  /** They are unnamed, found so for the first time, and stay. */
  readonly found: readonly string[];
  /** They are unnamed, found so by the last sweep as well. */
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
