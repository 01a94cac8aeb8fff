/**
 * Owns writing one tenant's entries: they gather for a moment and go to the log together, in order of arrival, into a stream of the
 * tenant's that ends and is replaced, so that old ones are archived. Must not know who records what.
 *
 * A2 A failed write is repeated, into another stream: the same entry may stand in the log twice, and readers see it once.
 * A3 A write that fails neither for unreachable servers nor for the state of its stream is halved until the unwritable entry stands alone,
 *    which is refused. While no stream can begin for such a reason, an entry whose caller waits is refused at once, and entries of
 *    completed actions keep waiting.
 */

import {
  auditId,
  ConflictError,
  FencedError,
  messageOf,
  type TenantId,
  TidemarkError,
  UnavailableError,
  uuidv7,
} from '@tidemark/core';
import type { Clock, Digest, Prng } from '@tidemark/ports';
import type { RecordedStream, RecordedStreamName, RecordedStreams } from '@tidemark/runtime';
import { Halving } from './audit-halving.ts';
import { AUDIT_DEFINITION, type AuditRecord, recordsAsJson } from './audit-record.ts';
import { AUDIT_RETRY_MS, AUDIT_STREAM_IDLE_MS, AUDIT_STREAM_MAX_MS, AUDIT_STREAM_MAX_WRITES } from './limits.ts';

/**
 * Milliseconds within which an entry is in the log, while the log accepts any. An entry for which an answer waits is written at once, but
 * writes of one tenant begin so many milliseconds apart, so that concurrent callers share one.
 */
const AUDIT_FLUSH_MS = 1_000;
export const AUDIT_GATHER_MS = 25;
/** Entries in one write to the log. */
export const AUDIT_BATCH_MAX_COUNT = 500;

export interface AuditLaneOptions {
  readonly tenant: TenantId;
  readonly streams: Pick<RecordedStreams, 'open'>;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
  /** Aborts when nothing is written any more. */
  readonly ending: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Entries to write. */
export interface Waiting {
  readonly record: AuditRecord;
  /** A caller waits for it; otherwise it may gather for longer. */
  readonly isAwaited: boolean;
  /** The entry is in the log, or never will be. */
  readonly done: (failure?: TidemarkError) => void;
}

interface OpenStream {
  readonly name: RecordedStreamName;
  readonly stream: RecordedStream;
  readonly openedMs: number;
  writtenMs: number;
  /** The stream has been written to. */
  isUsed: boolean;
}

export class AuditLane {
  readonly #options: AuditLaneOptions;
  #waiting: Waiting[] = [];
  #open: OpenStream | undefined;
  #writing: Promise<void> | undefined;
  /** When the last write began, on the monotonic clock. */
  #begunMs = Number.NEGATIVE_INFINITY;
  #awaitedCount = 0;
  readonly #halving = new Halving(AUDIT_BATCH_MAX_COUNT);
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
    this.#begin();
  }

  /** An entry that comes just as the last write ends begins another. */
  #begin(): void {
    if (this.#waiting.length === 0 || this.#options.ending.aborted) return;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      this.#begin();
    });
  }

  /** Resolves when nothing waits, or nothing is written any more. */
  async flushed(): Promise<void> {
    this.#isHurried = true;
    this.#wake();
    while (this.#writing !== undefined) await this.#writing;
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
      // It stays open until a poll finds it abandoned.
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

  /** Waits until enough entries have gathered, or a caller waits. Even then writes follow each other no more closely than the limit. */
  async #gather(): Promise<void> {
    const isFull = (): boolean => this.#isHurried || this.#waiting.length >= this.#halving.count;
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

  /** Entries leave the list once they are in the log, or never will be. */
  async #write(): Promise<void> {
    const { clock } = this.#options;
    const open = await this.#stream();
    const batch = this.#waiting.slice(0, this.#halving.count);
    this.#begunMs = clock.monotonicMs();
    try {
      const output = recordsAsJson(batch.map(({ record }) => record));
      await open.stream.write([{ step: 'write', what: `${batch.length} entries`, output }]);
    } catch (error) {
      // A2. A later poll ends it.
      this.#open = undefined;
      if (error instanceof UnavailableError || (open.isUsed && isOfStream(error))) throw error;
      await this.#endFailed(open.name);
      if (this.#halving.failed(batch.length)) this.#refuse(batch, error);
      return;
    }
    this.#halving.written(batch.length);
    open.isUsed = true;
    open.writtenMs = clock.monotonicMs();
    this.#leave(batch);
    if (open.stream.sequence >= AUDIT_STREAM_MAX_WRITES) await this.end();
  }

  #leave(batch: readonly Waiting[], failureOf?: (waiting: Waiting) => TidemarkError): void {
    const left = new Set(batch);
    this.#waiting = this.#waiting.filter((waiting) => !left.has(waiting));
    for (const waiting of batch) {
      if (waiting.isAwaited) this.#awaitedCount--;
      waiting.done(failureOf?.(waiting));
    }
  }

  #refuse(batch: readonly Waiting[], cause: unknown): void {
    this.#leave(batch, ({ record }) => {
      const failure = unwritable(record, cause);
      this.#options.onError(failure);
      return failure;
    });
  }

  /** Another stream begins soon, so this one should not take up room until it is found abandoned. */
  async #endFailed(name: RecordedStreamName): Promise<void> {
    const { streams, ending, onError } = this.#options;
    try {
      await (await streams.open(name, ending)).close();
    } catch (error) {
      onError(error);
    }
  }

  async #stream(): Promise<OpenStream> {
    if (this.#open !== undefined) return this.#open;
    const { streams, clock, prng, digest, tenant, ending } = this.#options;
    const workflow = auditId(digest.sha256(tenant).slice(0, 16), uuidv7(clock.nowMs(), prng.bytes(10)));
    const name = { definition: AUDIT_DEFINITION, workflow, tenant };
    try {
      const stream = await streams.open(name, ending);
      const nowMs = clock.monotonicMs();
      this.#open = { name, stream, openedMs: nowMs, writtenMs: nowMs, isUsed: false };
      return this.#open;
    } catch (error) {
      const awaited = this.#waiting.filter(({ isAwaited }) => isAwaited);
      if (!(error instanceof UnavailableError)) this.#refuse(awaited, error);
      throw error;
    }
  }
}

/** Another process has ended the stream, or writes to it; no other stream shares that fault. */
const isOfStream = (error: unknown): boolean => error instanceof FencedError || error instanceof ConflictError;

const unwritable = ({ id, subject, action, target }: AuditRecord, cause: unknown): TidemarkError =>
  new TidemarkError(
    'audit-unwritable',
    `Entry ${id} (${subject}: ${action} of ${target ?? 'nothing named'}) can't be recorded, and the requests that wait for it are not answered: ${messageOf(cause)}`,
    { cause },
  );
