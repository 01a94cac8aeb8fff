/**
 * Owns the reporting side of one run of an agent that runs elsewhere. It must never slow or break the agent: a report is serialized at once
 * and written in the background, failures are counted and reported, and nothing here throws, rejects or waits unless the caller requests it
 * (`flushed`). Waiting reports are bounded.
 */

import { NAME_MAX_CHARS } from '@tidemark/codec';
import { ConflictError, InvalidError, LimitError, UnavailableError, type WorkflowId } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { errorNote, REPORT_STEP } from '../definition/index.ts';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, backoffMs } from '../kernel/index.ts';
import { END_KEY, type Report, type StepReport } from './shadow-report.ts';
import { ROWS_BEHIND, type ShadowWriter, type Waiting } from './shadow-writer.ts';

/** Most reports of one run that wait to be written; later ones are lost and counted. */
export const SHADOW_BUFFER_MAX_COUNT = 1_000;
/** Reports in one append to the log. */
const SHADOW_BATCH_MAX_COUNT = 100;
/** Longest key of a report, in characters. */
const SHADOW_KEY_MAX_CHARS = 200;
/** Failures in a row, not counting unavailable servers, after which a report is dropped. */
const SHADOW_FAILURES_MAX = 10;
/** Default time-out of `flushed`, in milliseconds. */
const SHADOW_FLUSH_TIMEOUT_MS = 5_000;

export interface ShadowCounts {
  readonly reported: number;
  readonly written: number;
  /** Reported again; the log has them once. */
  readonly repeated: number;
  /** Neither written nor waiting: there was no room, or they can't be recorded. */
  readonly lost: number;
  /** Failed attempts to write; their reports may have been written since. */
  readonly failures: number;
  readonly waiting: number;
}

/** Room for waiting reports, shared by the runs of a process. */
export interface ShadowRoom {
  freeBytes: number;
}

export interface ShadowRunOptions {
  readonly workflow: WorkflowId;
  readonly clock: Clock;
  /** Whether the run is observed; may fail while servers are unavailable. */
  readonly decide: () => Promise<boolean>;
  readonly writer: ShadowWriter;
  readonly room: ShadowRoom;
  /** Receives every lost report, and every failed attempt. */
  readonly onProblem?: ((error: unknown) => void) | undefined;
  readonly stop: AbortSignal;
}

export class ShadowRun {
  readonly id: WorkflowId;
  readonly #options: ShadowRunOptions;
  readonly #queue: Waiting[] = [];
  #isObserved: boolean | undefined;
  /** Nothing more is recorded: the id belongs to another workflow, or this process has closed. */
  #isOver = false;
  #draining: Promise<void> | undefined;
  #lostSince = 0;
  #counts = { reported: 0, written: 0, repeated: 0, lost: 0, failures: 0 };

  constructor(options: ShadowRunOptions) {
    this.id = options.workflow;
    this.#options = options;
  }

  /** Whether this run is in the observed share; undefined until that is known. */
  get observed(): boolean | undefined {
    return this.#isObserved;
  }

  get counts(): ShadowCounts {
    return { ...this.#counts, waiting: this.#queue.length };
  }

  /** Reports a step that has happened. */
  step(report: StepReport): void {
    if (report.step === REPORT_STEP || report.key === END_KEY) {
      this.#lose(new InvalidError('report-invalid', `'${REPORT_STEP}' and '${END_KEY}' are Tidemark's own names.`));
    } else this.#take(report);
  }

  /** Reports the agent's end with its output, and its whole belief at that moment. */
  done(output: unknown, belief?: unknown): void {
    this.#take({ key: END_KEY, step: REPORT_STEP, ends: 'done', output: output ?? null, belief });
  }

  /** Reports that the agent failed. */
  failed(error: unknown, belief?: unknown): void {
    this.#take({ key: END_KEY, step: REPORT_STEP, ends: 'failed', error: errorNote(error), belief });
  }

  /** Resolves to true once nothing waits any more, or to false after `timeoutMs` (default 5 s). */
  async flushed(timeoutMs = SHADOW_FLUSH_TIMEOUT_MS): Promise<boolean> {
    const over = new AbortController();
    void this.#drained().then(() => over.abort());
    await this.#options.clock.sleep(timeoutMs, over.signal);
    return this.#queue.length === 0;
  }

  async #drained(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  #take(report: Report): void {
    if (this.#isObserved === false) return;
    this.#counts.reported++;
    try {
      this.#enqueue(report);
    } catch (error) {
      this.#lose(error);
    }
  }

  #enqueue(report: Report): void {
    const { room } = this.#options;
    checkNames(report);
    // Serialized now, because the agent may change its objects later.
    const text = JSON.stringify(report);
    if (this.#isOver) throw new LimitError('shadow-over', `The record of ${this.id} takes no more reports.`);
    if (this.#queue.length >= SHADOW_BUFFER_MAX_COUNT || text.length > room.freeBytes) {
      throw new LimitError('shadow-buffer-full', `A report of ${this.id} was lost: too many wait to be written.`);
    }
    room.freeBytes -= text.length;
    this.#queue.push({ text, lostCount: this.#lostSince });
    this.#lostSince = 0;
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined;
    });
  }

  #lose(error: unknown, count = 1): void {
    this.#lostSince += count;
    this.#refused(error, count);
  }

  #refused(error: unknown, count = 1): void {
    this.#counts.lost += count;
    this.#report(error);
  }

  #failed(error: unknown): void {
    this.#counts.failures++;
    this.#report(error);
  }

  #report(error: unknown): void {
    try {
      this.#options.onProblem?.(error);
    } catch {
      // A failing listener of the agent must not break its record.
    }
  }

  /** Writes waiting reports in order until none are left. Never rejects. */
  async #drain(): Promise<void> {
    const { clock, stop } = this.#options;
    // Leaves the agent's current turn.
    await Promise.resolve();
    for (let failureCount = 0, unavailableCount = 0; this.#queue.length > 0 && !stop.aborted; ) {
      try {
        await this.#drainOnce();
        failureCount = 0;
        unavailableCount = 0;
      } catch (error) {
        if (error instanceof ConflictError) {
          this.#report(error);
          this.#end();
          return;
        }
        const isUnavailable = error instanceof UnavailableError;
        if (isUnavailable) unavailableCount++;
        else failureCount++;
        if (!isUnavailable || error.code !== ROWS_BEHIND) this.#failed(error);
        if (failureCount >= SHADOW_FAILURES_MAX) {
          this.#lostSince += this.#queue[0]?.lostCount ?? 0;
          this.#remove(1);
          this.#lose(error);
          failureCount = 0;
        }
        // If another reporter was first, the next attempt reads what it wrote.
        await clock.sleep(backoffMs(failureCount + unavailableCount, BACKOFF_FIRST_MS, BACKOFF_MAX_MS), stop);
      }
    }
    if (stop.aborted) this.#end();
  }

  async #drainOnce(): Promise<void> {
    this.#isObserved ??= await this.#options.decide();
    if (!this.#isObserved) {
      this.#remove(this.#queue.length);
      return;
    }
    const batch = this.#queue.slice(0, SHADOW_BATCH_MAX_COUNT);
    const fates = await this.#options.writer.write(batch);
    this.#remove(batch.length);
    for (const fate of fates) {
      if (fate.kind === 'refused') this.#refused(fate.error);
      else this.#counts[fate.kind]++;
    }
  }

  #remove(count: number): void {
    for (const { text } of this.#queue.splice(0, count)) this.#options.room.freeBytes += text.length;
  }

  /** Nothing more can be recorded: waiting reports are lost. */
  #end(): void {
    this.#isOver = true;
    const count = this.#queue.length;
    this.#remove(count);
    if (count > 0)
      this.#lose(new LimitError('shadow-over', `The record of ${this.id} was ended with reports waiting.`), count);
  }
}

/** Refuses names that no event could have, here where the agent's code can be told. */
function checkNames({ key, step, next = [] }: Report): void {
  const names = [step, ...next.map((task) => task.step)];
  const isBad = (name: unknown, max: number): boolean => typeof name !== 'string' || name === '' || name.length > max;
  if (!isBad(key, SHADOW_KEY_MAX_CHARS) && !names.some((name) => isBad(name, NAME_MAX_CHARS))) return;
  throw new InvalidError(
    'report-invalid',
    `A report needs a key of 1 to ${SHADOW_KEY_MAX_CHARS} characters and steps of 1 to ${NAME_MAX_CHARS}.`,
  );
}
