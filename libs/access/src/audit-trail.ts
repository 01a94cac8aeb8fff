/**
 * Owns the writing down of who read or did what: entries wait in memory for a moment and go to the log together, each tenant's into a
 * stream of its own, so that no read waits for an append. Streams end and begin anew, so that old ones are archived.
 *
 * A1 What was recorded is in the log within `AUDIT_FLUSH_MS` while the log takes anything. While it doesn't, nothing more is
 *    admitted after `AUDIT_BEHIND_MAX_MS`, and so nothing read or done (R4).
 * A2 A write that failed is written again, into another stream: the same entry may stand in the log twice, and is told once.
 */

import { type TenantId, UnavailableError, uuidv7, workflowId } from '@tidemark/core';
import type { AuditEntry, AuditTrail, Clock, Digest, Prng, ProjectionStore } from '@tidemark/ports';
import type { SystemStream, SystemStreams } from '@tidemark/runtime';
import { AUDIT_DEFINITION, type AuditRecord, recordOf, recordsAsJson } from './audit-record.ts';
import {
  AUDIT_BATCH_MAX_COUNT,
  AUDIT_BEHIND_MAX_MS,
  AUDIT_FLUSH_MS,
  AUDIT_LOOK_MS,
  AUDIT_RETRY_MS,
  AUDIT_STREAM_IDLE_MS,
  AUDIT_STREAM_MAX_MS,
  AUDIT_STREAM_MAX_WRITES,
  AUDIT_STREAMS_READ_MAX,
  AUDIT_WAITING_MAX_COUNT,
} from './limits.ts';
import { SYSTEM_TENANT } from './names.ts';

export interface WrittenTrailOptions {
  readonly streams: Pick<SystemStreams, 'open'>;
  readonly store: Pick<ProjectionStore, 'workflow' | 'workflows'>;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
  /** Told of every write that failed; it is tried again. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

interface Waiting {
  readonly record: AuditRecord;
  readonly tenant: TenantId | null;
  /** On the monotonic clock. */
  readonly sinceMs: number;
}

interface OpenStream {
  readonly stream: SystemStream;
  readonly openedMs: number;
  writtenMs: number;
}

export class WrittenTrail implements AuditTrail {
  readonly #options: WrittenTrailOptions;
  readonly #streams = new Map<TenantId, OpenStream>();
  readonly #ending = new AbortController();
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #wake = new AbortController();

  constructor(options: WrittenTrailOptions) {
    this.#options = options;
  }

  /** Ends now and then what is idle or full here, and what a process that died has left open. */
  start(): void {
    this.#looking ??= this.#lookNowAndThen();
  }

  admit(): void {
    const oldest = this.#waiting[0];
    const isLate = oldest !== undefined && this.#options.clock.monotonicMs() - oldest.sinceMs > AUDIT_BEHIND_MAX_MS;
    if (isLate || this.#waiting.length >= AUDIT_WAITING_MAX_COUNT || this.#ending.signal.aborted) throw behind();
  }

  /** What was admitted is taken: beyond the limit there are only as many as were under way at once. */
  record(entry: AuditEntry): void {
    const { clock, prng } = this.#options;
    const sinceMs = clock.monotonicMs();
    const atMs = clock.nowMs();
    const record = recordOf(entry, uuidv7(atMs, prng.bytes(10)), atMs);
    this.#waiting.push({ record, tenant: entry.tenant, sinceMs });
    this.#flushing ??= this.#flushAll();
  }

  /** Resolves when nothing waits; for who shows what was just done, and for tests. */
  async flushed(): Promise<void> {
    this.#wake.abort();
    await this.#flushing;
  }

  /** Writes what waits (as long as the log takes it within `AUDIT_BEHIND_MAX_MS`) and ends its streams. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    const late = new AbortController();
    const written = this.flushed().then(() => late.abort());
    await clock.sleep(AUDIT_BEHIND_MAX_MS, late.signal);
    this.#ending.abort();
    this.#wake.abort();
    await this.#looking;
    if (!late.signal.aborted) return;
    await written;
    for (const [tenant, open] of this.#streams) await this.#end(tenant, open);
  }

  async #flushAll(): Promise<void> {
    const { clock, onError } = this.#options;
    try {
      while (this.#waiting.length > 0) {
        await this.#pause(AUDIT_FLUSH_MS);
        while (this.#waiting.length > 0 && !this.#ending.signal.aborted) {
          try {
            await this.#flush();
          } catch (error) {
            onError?.('audit', error);
            await clock.sleep(AUDIT_RETRY_MS, this.#ending.signal);
          }
        }
        if (this.#ending.signal.aborted) return;
      }
    } finally {
      this.#flushing = undefined;
    }
  }

  async #pause(ms: number): Promise<void> {
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
    await this.#options.clock.sleep(ms, AbortSignal.any([this.#wake.signal, this.#ending.signal]));
  }

  /** Entries of one tenant leave the list when the log has them, and not before. */
  async #flush(): Promise<void> {
    const batch = this.#waiting.slice(0, AUDIT_BATCH_MAX_COUNT);
    const byTenant = new Map<TenantId, Waiting[]>();
    for (const waiting of batch) {
      const tenant = await this.#tenantOf(waiting);
      byTenant.set(tenant, [...(byTenant.get(tenant) ?? []), waiting]);
    }
    let failure: unknown;
    for (const [tenant, entries] of byTenant) {
      try {
        await this.#write(tenant, entries);
      } catch (error) {
        // Those of other tenants need not wait for it.
        failure ??= error;
        continue;
      }
      const written = new Set(entries);
      this.#waiting = this.#waiting.filter((waiting) => !written.has(waiting));
    }
    if (failure !== undefined) throw failure;
  }

  /** What somebody of no tenant did to a workflow is written down with the workflow's tenant. */
  async #tenantOf({ tenant, record: { target } }: Waiting): Promise<TenantId> {
    if (tenant !== null) return tenant;
    const found = target === null ? undefined : await this.#options.store.workflow(workflowId(target));
    return found?.tenant ?? SYSTEM_TENANT;
  }

  async #write(tenant: TenantId, entries: readonly Waiting[]): Promise<void> {
    const open = await this.#streamOf(tenant);
    const { clock } = this.#options;
    try {
      await open.stream.write(recordsAsJson(entries.map(({ record }) => record)), `${entries.length} entries`);
    } catch (error) {
      // A2. Its end is left to a later look.
      this.#streams.delete(tenant);
      throw error;
    }
    open.writtenMs = clock.monotonicMs();
    if (open.stream.writeCount >= AUDIT_STREAM_MAX_WRITES) await this.#end(tenant, open);
  }

  async #streamOf(tenant: TenantId): Promise<OpenStream> {
    const known = this.#streams.get(tenant);
    if (known !== undefined) return known;
    const { streams, clock, prng, digest } = this.#options;
    const name = `~audit:${digest.sha256(tenant).slice(0, 16)}:${uuidv7(clock.nowMs(), prng.bytes(10))}`;
    const stream = await streams.open(
      { definition: AUDIT_DEFINITION, workflow: workflowId(name), tenant },
      this.#ending.signal,
    );
    const nowMs = clock.monotonicMs();
    const open = { stream, openedMs: nowMs, writtenMs: nowMs };
    this.#streams.set(tenant, open);
    return open;
  }

  async #lookNowAndThen(): Promise<void> {
    const { clock, onError } = this.#options;
    while (!this.#ending.signal.aborted) {
      try {
        await this.#endOld();
        await this.#endAbandoned();
      } catch (error) {
        onError?.('audit', error);
      }
      await clock.sleep(AUDIT_LOOK_MS, this.#ending.signal);
    }
  }

  async #endOld(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [tenant, open] of this.#streams) {
      const isOld = nowMs - open.openedMs >= AUDIT_STREAM_MAX_MS || nowMs - open.writtenMs >= AUDIT_STREAM_IDLE_MS;
      if (isOld) await this.#end(tenant, open);
    }
  }

  async #end(tenant: TenantId, { stream }: OpenStream): Promise<void> {
    if (this.#streams.get(tenant)?.stream === stream) this.#streams.delete(tenant);
    try {
      await stream.close();
    } catch (error) {
      // It stays open until somebody finds it abandoned.
      this.#options.onError?.('audit', error);
    }
  }

  /** Nobody writes to a stream that is twice as old as one gets. Two processes may find the same: one of them is refused. */
  async #endAbandoned(): Promise<void> {
    const { store, streams, clock } = this.#options;
    const beforeMs = clock.nowMs() - 2 * AUDIT_STREAM_MAX_MS;
    const query = { definition: AUDIT_DEFINITION, status: 'open', limit: AUDIT_STREAMS_READ_MAX } as const;
    for (const { workflow, tenant, openedAtMs } of await store.workflows(query)) {
      if (openedAtMs >= beforeMs || this.#ending.signal.aborted) continue;
      const name = { definition: AUDIT_DEFINITION, workflow, tenant };
      await (await streams.open(name, this.#ending.signal)).close();
    }
  }
}

const behind = (): UnavailableError =>
  new UnavailableError(
    'audit-behind',
    'What was read or done before could not be written down yet, and nothing may go on without: the log is away or slow. Try again.',
  );
