/**
 * Owns the mirror: a folder that follows a run, or always the newest run of a workflow, as the log grows. Hints say when to
 * look, a period makes up for lost ones and sees what others write to the folder. It outlives servers and disks that are away.
 */

import { TidemarkApiError } from '@tidemark/client';
import { UnavailableError } from '@tidemark/core';
import type { ExportOptions } from './export.ts';
import { type FilesFolder, openFolder } from './folder.ts';
import { DEDUPE_INDEX, HANDOFF } from './formats.ts';
import { Keeper } from './keeper.ts';
import { POLL_PERIOD_MS, REST_FACTOR, SETTLE_MS } from './limits.ts';
import { Reports } from './reports.ts';
import { RunReader } from './source.ts';

export interface MirrorOptions extends ExportOptions {
  /** Calls the listener whenever rows may have changed; returns what ends that. */
  readonly subscribe?: ((listener: () => void) => Promise<() => unknown>) | undefined;
  readonly settleMs?: number | undefined;
  readonly periodMs?: number | undefined;
}

export interface Mirror {
  /** Settles when the mirror ends: rejects with what it can't outlive. */
  readonly ended: Promise<void>;
  /** Looks once more, then lets the folder go. Harmless when repeated. */
  close(): Promise<void>;
}

/** Throws `ConfigError` (`files-in-use`, `files-newer`, `files-no-folder`), `UnavailableError` (`files-unavailable`). */
export async function mirrorFiles(options: MirrorOptions): Promise<Mirror> {
  const folder = await openFolder(options.folder, options);
  try {
    const reader = new RunReader(options.client, options.stepNames);
    const reports = new Reports(options.onReport);
    const settleMs = options.settleMs ?? SETTLE_MS;
    const keeper = await Keeper.open({ ...options, folder, reader, reports, settleMs, nowMs: Date.now });
    const following = new Following(options, folder, keeper, reader, reports);
    const unsubscribe = await options.subscribe?.(() => following.wake());
    const ended = following.run().finally(async () => {
      await unsubscribe?.();
      await folder.close();
    });
    // Whoever waits for `ended` or `close` is told.
    ended.catch(() => {});
    return {
      ended,
      async close() {
        following.stop();
        await ended;
      },
    };
  } catch (error) {
    await folder.close();
    throw error;
  }
}

const isAway = (error: unknown): error is Error =>
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
  /** Of rows and folder as they were looked at last. */
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
      // What is asked to end looks once more, so that it leaves the newest there is.
      const isLast = this.#isStopping;
      this.#isHinted = false;
      const beganMs = performance.now();
      try {
        await this.#poll();
        this.#reports.forget('away');
      } catch (error) {
        if (isLast || !isAway(error)) throw error;
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
    // Written meanwhile, by this look or by somebody else, who can't be told apart; or still being written: looked at again.
    const isSame = this.#keeper.isSettled && (await this.#shared()) === before;
    this.#seen = isSame ? rows + before : '';
  }

  /** Of the files that others write to. */
  async #shared(): Promise<string> {
    return JSON.stringify([await this.#folder.changeOf(HANDOFF), await this.#folder.changeOf(DEDUPE_INDEX)]);
  }

  /** Until the next hint or period, and after long writings for longer. */
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
