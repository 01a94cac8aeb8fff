/**
 * Owns the writing down of one tenant's entries: they gather for a moment and go to the log together, in the order in which they came, into a
 * stream of the tenant's that ends and begins anew, so that old ones are archived. Must not know who records what.
 *
 * A2 A write that failed is written again, into another stream: the same entry may stand in the log twice, and is told once.
 */

import { type TenantId, uuidv7, workflowId } from '@tidemark/core';
import type { Clock, Digest, Prng } from '@tidemark/ports';
import type { SystemStream, SystemStreams } from '@tidemark/runtime';
import { AUDIT_DEFINITION, type AuditRecord, recordsAsJson } from './audit-record.ts';
import {
  AUDIT_BATCH_MAX_COUNT,
  AUDIT_FLUSH_MS,
  AUDIT_GATHER_MS,
  AUDIT_RETRY_MS,
  AUDIT_STREAM_IDLE_MS,
  AUDIT_STREAM_MAX_MS,
  AUDIT_STREAM_MAX_WRITES,
} from './limits.ts';

export interface AuditLaneOptions {
  readonly tenant: TenantId;
  readonly streams: Pick<SystemStreams, 'open'>;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
  /** Aborts when nothing is written any more. */
  readonly ending: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** What is to be written. */
export interface Waiting {
  readonly record: AuditRecord;
  /** Somebody waits for it; otherwise it may gather for longer. */
  readonly isAwaited: boolean;
  /** The log has it. */
  readonly done: () => void;
}

interface OpenStream {
  readonly stream: SystemStream;
  readonly openedMs: number;
  writtenMs: number;
}

export class AuditLane {
  readonly #options: AuditLaneOptions;
  #waiting: Waiting[] = [];
  #open: OpenStream | undefined;
  #writing: Promise<void> | undefined;
  /** When the last write began, on the monotonic clock. */
  #begunMs = Number.NEGATIVE_INFINITY;
  #awaitedCount = 0;
  #isHurried = false;
  #wake = (): void => {};

  constructor(options: AuditLaneOptions) {
    this.#options = options;
  }

  /** Nothing waits and no stream is open. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#open === undefined && this.#writing === undefined;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (waiting.isAwaited) this.#awaitedCount++;
    this.#wake();
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when nothing waits, or nothing is written any more. */
  async flushed(): Promise<void> {
    this.#isHurried = true;
    this.#wake();
    await this.#writing;
    this.#isHurried = false;
  }

  /** Ends its stream when that is old or idle. */
  async endOld(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    const nowMs = this.#options.clock.monotonicMs();
    const isOld = nowMs - open.openedMs >= AUDIT_STREAM_MAX_MS || nowMs - open.writtenMs >= AUDIT_STREAM_IDLE_MS;
    if (isOld) await this.end();
  }

  async end(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    try {
      await open?.stream.close();
    } catch (error) {
      // It stays open until somebody finds it abandoned.
      this.#options.onError(error);
    }
  }

  async #writeAll(): Promise<void> {
    const { clock, ending, onError } = this.#options;
    while (this.#waiting.length > 0 && !ending.aborted) {
      await this.#gather();
      if (ending.aborted) return;
      try {
        await this.#write();
      } catch (error) {
        onError(error);
        await clock.sleep(AUDIT_RETRY_MS, ending);
      }
    }
  }

  /** Until others have come that may go together, or somebody waits: even then writes don't follow each other more closely than named. */
  async #gather(): Promise<void> {
    const isFull = (): boolean => this.#isHurried || this.#waiting.length >= AUDIT_BATCH_MAX_COUNT;
    await this.#pause(AUDIT_FLUSH_MS, () => this.#awaitedCount > 0 || isFull());
    await this.#pause(this.#begunMs + AUDIT_GATHER_MS - this.#options.clock.monotonicMs(), isFull);
  }

  async #pause(ms: number, isOver: () => boolean): Promise<void> {
    const { clock, ending } = this.#options;
    if (ms <= 0 || isOver()) return;
    const over = new AbortController();
    this.#wake = () => {
      if (isOver()) over.abort();
    };
    await clock.sleep(ms, AbortSignal.any([over.signal, ending]));
    this.#wake = () => {};
  }

  /** Entries leave the list when the log has them, and not before. */
  async #write(): Promise<void> {
    const { clock } = this.#options;
    const batch = this.#waiting.slice(0, AUDIT_BATCH_MAX_COUNT);
    const open = await this.#stream();
    this.#begunMs = clock.monotonicMs();
    try {
      await open.stream.write(recordsAsJson(batch.map(({ record }) => record)), `${batch.length} entries`);
    } catch (error) {
      // A2. Its end is left to a later look.
      this.#open = undefined;
      throw error;
    }
    open.writtenMs = clock.monotonicMs();
    this.#waiting = this.#waiting.slice(batch.length);
    for (const { isAwaited, done } of batch) {
      if (isAwaited) this.#awaitedCount--;
      done();
    }
    if (open.stream.writeCount >= AUDIT_STREAM_MAX_WRITES) await this.end();
  }

  async #stream(): Promise<OpenStream> {
    if (this.#open !== undefined) return this.#open;
    const { streams, clock, prng, digest, tenant, ending } = this.#options;
    const name = `~audit:${digest.sha256(tenant).slice(0, 16)}:${uuidv7(clock.nowMs(), prng.bytes(10))}`;
    const stream = await streams.open({ definition: AUDIT_DEFINITION, workflow: workflowId(name), tenant }, ending);
    const nowMs = clock.monotonicMs();
    this.#open = { stream, openedMs: nowMs, writtenMs: nowMs };
    return this.#open;
  }
}
