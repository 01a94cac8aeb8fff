/**
 * Owns the mirror: a folder that follows a run, or always the newest run of a workflow, as the log grows. Hints trigger a pass; a period
 * makes up for lost ones and notices what others write to the folder. It survives unreachable servers and disks.
 */

import { TidemarkApiError } from '@tidemark/client';
import { UnavailableError } from '@tidemark/core';
import { type ExportOptions, openedFolder } from './export.ts';
import type { FilesFolder } from './folder.ts';
import { Keeper, SHARED_NAMES } from './keeper.ts';
import { SETTLE_MS } from './limits.ts';
import { Reports } from './reports.ts';
import { RunReader } from './source.ts';

/** Period at which a mirror polls the folder, and without a hint the rows; milliseconds. */
const POLL_PERIOD_MS = 500;
/** A mirror rests this many times as long as its last writing took, so that long runs are not written all the time. */
const REST_FACTOR = 5;

export interface MirrorOptions extends ExportOptions {
  /** Calls the listener whenever rows may have changed; returns a function that stops it. */
  readonly subscribe?: ((listener: () => void) => Promise<() => unknown>) | undefined;
  /** Called after each pass that wrote what was known, and took over all that others had written, when it began. */
  readonly onTaken?: ((beganAtMs: number) => void) | undefined;
  readonly settleMs?: number | undefined;
  readonly periodMs?: number | undefined;
}

export interface Mirror {
  /** Settles when the mirror ends: rejects with an error that it can't survive. */
  readonly ended: Promise<void>;
  /** Runs a last pass, then releases the folder. Harmless when repeated. */
  close(): Promise<void>;
}

/** Throws `ConfigError` (`files-in-use`, `files-newer`, `files-no-folder`), `UnavailableError` (`files-unavailable`). */
export async function mirrorFiles(options: MirrorOptions): Promise<Mirror> {
  const folder = await openedFolder(options);
  const release = async (): Promise<void> => {
    if (folder !== options.folder) await folder.close();
  };
  try {
    const reader = new RunReader(options);
    const reports = new Reports(options.onReport);
    const settleMs = options.settleMs ?? SETTLE_MS;
    const keeper = await Keeper.open({ ...options, folder, reader, reports, settleMs, nowMs: Date.now });
    const following = new Following(options, folder, keeper, reader, reports);
    const unsubscribe = await options.subscribe?.(() => following.wake());
    const ended = following.run().finally(async () => {
      await unsubscribe?.();
      await release();
    });
    // Callers of `ended` or `close` receive the error.
    ended.catch(() => {});
    return {
      ended,
      async close() {
        following.stop();
        await ended;
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

const isUnavailable = (error: unknown): error is Error =>
  error instanceof UnavailableError || (error instanceof TidemarkApiError && error.canRetry);

class Following {
  readonly #options: MirrorOptions;
  readonly #folder: FilesFolder;
  readonly #keeper: Keeper;
  readonly #reader: RunReader;
  readonly #reports: Reports;
  #isStopping = false;
  #isHinted = false;
  #wake: (() => void) | undefined;
  /** Of rows and folder at the last pass. */
  #seen = '';

  constructor(options: MirrorOptions, folder: FilesFolder, keeper: Keeper, reader: RunReader, reports: Reports) {
    this.#options = options;
    this.#folder = folder;
    this.#keeper = keeper;
    this.#reader = reader;
    this.#reports = reports;
  }

  wake(): void {
    this.#isHinted = true;
    this.#wake?.();
  }

  stop(): void {
    this.#isStopping = true;
    this.wake();
  }

  async run(): Promise<void> {
    for (;;) {
      // A last pass at the end leaves the newest state.
      const isLast = this.#isStopping;
      this.#isHinted = false;
      const [beganMs, beganAtMs] = [performance.now(), Date.now()];
      try {
        await this.#poll();
        if (this.#keeper.isSettled) this.#options.onTaken?.(beganAtMs);
        this.#reports.forget('away');
      } catch (error) {
        if (isLast || !isUnavailable(error)) throw error;
        this.#reports.report('away', error.message);
      }
      if (isLast) return;
      await this.#rest((performance.now() - beganMs) * REST_FACTOR);
    }
  }

  async #poll(): Promise<void> {
    const row = await this.#reader.newest(this.#options.shown);
    if (row === undefined) return;
    const rows = JSON.stringify([row.workflow, row.position, row.status]);
    const before = await this.#shared();
    if (rows + before === this.#seen) return;
    await this.#keeper.poll(row);
    // Written meanwhile, by this pass or by somebody else, which can't be distinguished; or still being written: another pass follows.
    const isSame = this.#keeper.isSettled && (await this.#shared()) === before;
    this.#seen = isSame ? rows + before : '';
  }

  /** Of the files, to all of which others write. */
  async #shared(): Promise<string> {
    return JSON.stringify(await Promise.all(SHARED_NAMES.map((file) => this.#folder.changeOf(file))));
  }

  /** Waits until the next hint or period, and longer after long writings. */
  async #rest(leastMs: number): Promise<void> {
    const periodMs = this.#options.periodMs ?? POLL_PERIOD_MS;
    if (!this.#isStopping) await this.#sleep(Math.min(leastMs, periodMs * REST_FACTOR), false);
    if (!this.#isHinted) await this.#sleep(periodMs, true);
  }

  async #sleep(ms: number, wakesOnHint: boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        if (!wakesOnHint && !this.#isStopping) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
