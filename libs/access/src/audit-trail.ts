/**
 * Owns the writing down of who read or did what, for all tenants: what comes together goes to the log together, each tenant's into a stream of
 * its own (audit-lane.ts), and none waits for another's.
 *
 * A1 What was recorded is in the log within `AUDIT_FLUSH_MS` while the log takes anything. While it doesn't, nothing more is
 *    admitted after `AUDIT_BEHIND_MAX_MS`, and so nothing read or done (R4).
 */

import { SYSTEM_TENANT, type TenantId, UnavailableError, uuidv7, workflowId } from '@tidemark/core';
import type { AuditEntry, AuditTrail, Clock, Digest, Prng, ProjectionStore } from '@tidemark/ports';
import type { SystemStreams } from '@tidemark/runtime';
import { AuditLane, type Waiting } from './audit-lane.ts';
import { AUDIT_DEFINITION, recordOf } from './audit-record.ts';
import {
  AUDIT_BEHIND_MAX_MS,
  AUDIT_LOOK_MS,
  AUDIT_RETRY_MS,
  AUDIT_STREAM_MAX_MS,
  AUDIT_STREAMS_READ_MAX,
  AUDIT_WAITING_MAX_COUNT,
} from './limits.ts';

export interface WrittenTrailOptions {
  readonly streams: Pick<SystemStreams, 'open'>;
  readonly store: Pick<ProjectionStore, 'workflow' | 'workflows'>;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
  /** Told of every write that failed; it is tried again. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

interface Pending {
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** Nobody waits for it any more. */
  readonly giveUp: () => void;
}

export class WrittenTrail implements AuditTrail {
  readonly #options: WrittenTrailOptions;
  readonly #lanes = new Map<TenantId, AuditLane>();
  /** What the log has not taken yet, the oldest first. */
  readonly #pending = new Set<Pending>();
  /** Entries whose tenant is being looked up. */
  readonly #routing = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(options: WrittenTrailOptions) {
    this.#options = options;
  }

  /** Ends now and then what is idle or full here, and what a process that died has left open. */
  start(): void {
    this.#looking ??= this.#lookNowAndThen();
  }

  admit(): void {
    const [oldest] = this.#pending;
    const isLate = oldest !== undefined && this.#options.clock.monotonicMs() - oldest.sinceMs > AUDIT_BEHIND_MAX_MS;
    if (isLate || this.#pending.size >= AUDIT_WAITING_MAX_COUNT || this.#ending.signal.aborted) throw behind();
  }

  /** What was admitted is taken: beyond the limit there are only as many as were under way at once. */
  record(entry: AuditEntry): void {
    this.#take(entry, false);
  }

  async write(entry: AuditEntry): Promise<void> {
    const over = new AbortController();
    const isWritten = this.#take(entry, true, () => over.abort());
    await this.#options.clock.sleep(AUDIT_BEHIND_MAX_MS, over.signal);
    if (!isWritten()) throw behind();
  }

  /** Resolves when nothing waits; for who shows what was just done, and for tests. */
  async flushed(): Promise<void> {
    await Promise.all(this.#routing);
    await Promise.all(Array.from(this.#lanes.values(), (lane) => lane.flushed()));
  }

  /** Writes what waits (as long as the log takes it within `AUDIT_BEHIND_MAX_MS`) and ends its streams. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    const late = new AbortController();
    const written = this.flushed().then(() => late.abort());
    await clock.sleep(AUDIT_BEHIND_MAX_MS, late.signal);
    this.#ending.abort();
    for (const { giveUp } of this.#pending) giveUp();
    await this.#looking;
    if (!late.signal.aborted) return;
    await written;
    for (const lane of this.#lanes.values()) await lane.end();
  }

  /** What is returned says whether the log has it; `onOver` is called once it does, or nobody writes any more. */
  #take(entry: AuditEntry, isAwaited: boolean, onOver = (): void => {}): () => boolean {
    const { clock, prng } = this.#options;
    const pending: Pending = { sinceMs: clock.monotonicMs(), giveUp: onOver };
    this.#pending.add(pending);
    const atMs = clock.nowMs();
    const record = recordOf(entry, uuidv7(atMs, prng.bytes(10)), atMs);
    const done = (): void => {
      this.#pending.delete(pending);
      onOver();
    };
    const waiting = { record, isAwaited, done };
    if (entry.tenant === null) this.#route(waiting);
    else this.#lane(entry.tenant).add(waiting);
    return () => !this.#pending.has(pending);
  }

  #route(waiting: Waiting): void {
    const routed = this.#tenantOf(waiting.record.target).then((tenant) => {
      if (tenant !== undefined) this.#lane(tenant).add(waiting);
      this.#routing.delete(routed);
    });
    this.#routing.add(routed);
  }

  #lane(tenant: TenantId): AuditLane {
    const known = this.#lanes.get(tenant);
    if (known !== undefined) return known;
    const { streams, clock, prng, digest, onError } = this.#options;
    const lane = new AuditLane({
      ...{ tenant, streams, clock, prng, digest, ending: this.#ending.signal },
      onError: (error) => onError?.('audit', error),
    });
    this.#lanes.set(tenant, lane);
    return lane;
  }

  /** What somebody of no tenant did to a workflow is written down with the workflow's tenant. Undefined: nothing is written any more. */
  async #tenantOf(target: string | null): Promise<TenantId | undefined> {
    if (target === null) return SYSTEM_TENANT;
    const { store, clock, onError } = this.#options;
    while (!this.#ending.signal.aborted) {
      try {
        return (await store.workflow(workflowId(target)))?.tenant ?? SYSTEM_TENANT;
      } catch (error) {
        onError?.('audit', error);
        await clock.sleep(AUDIT_RETRY_MS, this.#ending.signal);
      }
    }
    return undefined;
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
    for (const [tenant, lane] of this.#lanes) {
      await lane.endOld();
      if (lane.isIdle) this.#lanes.delete(tenant);
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
