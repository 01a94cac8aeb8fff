/**
 * Owns the writing down of who read or did what, for all tenants: what comes together goes to the log together, each tenant's into a stream of
 * its own (audit-lane.ts), and none waits for another's.
 *
 * A1 What was recorded is in the log within `AUDIT_FLUSH_MS` while the log takes anything of its tenant. While it doesn't, nothing more of
 *    that tenant is admitted after `AUDIT_BEHIND_MAX_MS`, and so nothing read or done (R4).
 * A3 What the log will never take is refused by itself, and told; nothing else waits for it.
 */

import { SYSTEM_TENANT, type TenantId, type TidemarkError, UnavailableError, uuidv7, workflowId } from '@tidemark/core';
import type { AuditEntry, AuditTrail, Clock, Digest, Prng, ProjectionStore } from '@tidemark/ports';
import type { SystemStreams } from '@tidemark/runtime';
import { AuditBacklog, type WaitingPlace } from './audit-backlog.ts';
import { AuditLane, type Waiting } from './audit-lane.ts';
import { AUDIT_DEFINITION, recordOf } from './audit-record.ts';
import {
  AUDIT_BEHIND_MAX_MS,
  AUDIT_POLL_MS,
  AUDIT_RETRY_MS,
  AUDIT_STREAM_MAX_MS,
  AUDIT_STREAMS_READ_MAX,
} from './limits.ts';

export interface WrittenTrailOptions {
  readonly streams: Pick<SystemStreams, 'open'>;
  readonly store: Pick<ProjectionStore, 'workflow' | 'workflows' | 'placed'>;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
  /** Told of every write that failed and is tried again, and of every entry that never will be written. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

/** What became of an entry; as long as it says nothing, that is open. */
interface Fate {
  isWritten?: boolean;
  failure?: TidemarkError | undefined;
}

export class WrittenTrail implements AuditTrail {
  readonly #options: WrittenTrailOptions;
  readonly #lanes = new Map<TenantId, AuditLane>();
  /** What the log has not taken yet. */
  readonly #backlog = new AuditBacklog();
  /** End the waiting of those who wait for an entry. */
  readonly #waiters = new Set<() => void>();
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

  admit(tenant: TenantId | null): void {
    const nowMs = this.#options.clock.monotonicMs();
    const lanes = tenant === null ? [null, SYSTEM_TENANT] : [tenant];
    const isBehind = lanes.some((whose) => this.#backlog.isBehind(whose, nowMs));
    if (isBehind || this.#ending.signal.aborted) throw behind();
  }

  /** What was admitted is taken: beyond the limit there are only as many as were under way at once. */
  record(entry: AuditEntry): void {
    this.#take(entry, false);
  }

  async write(entry: AuditEntry): Promise<void> {
    const over = new AbortController();
    const fate = this.#take(entry, true, () => over.abort());
    await this.#options.clock.sleep(AUDIT_BEHIND_MAX_MS, over.signal);
    if (fate.failure !== undefined) throw fate.failure;
    if (fate.isWritten !== true) throw behind();
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
    for (const giveUp of this.#waiters) giveUp();
    await this.#looking;
    if (!late.signal.aborted) return;
    await written;
    for (const lane of this.#lanes.values()) await lane.end();
  }

  /** `onOver` is called once what is returned says what became of it, or nobody writes any more. */
  #take(entry: AuditEntry, isAwaited: boolean, onOver = (): void => {}): Fate {
    const { clock, prng } = this.#options;
    const isRouted = entry.tenant === null && entry.isWorkflow === true;
    const whose = isRouted ? null : (entry.tenant ?? SYSTEM_TENANT);
    const place = this.#backlog.add(whose, clock.monotonicMs());
    this.#waiters.add(onOver);
    const atMs = clock.nowMs();
    const record = recordOf(entry, uuidv7(atMs, prng.bytes(10)), atMs);
    const fate: Fate = {};
    const done = (failure?: TidemarkError): void => {
      place.leave();
      this.#waiters.delete(onOver);
      fate.isWritten = failure === undefined;
      fate.failure = failure;
      onOver();
    };
    const waiting = { record, isAwaited, done };
    if (whose === null) this.#route(waiting, place);
    else this.#lane(whose).add(waiting);
    return fate;
  }

  #route(waiting: Waiting, place: WaitingPlace): void {
    const routed = this.#tenantOf(waiting.record.target).then((tenant) => {
      if (tenant !== undefined) {
        place.move(tenant);
        this.#lane(tenant).add(waiting);
      }
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
        const id = workflowId(target);
        // What was started just now is placed before rows know it.
        const known = (await store.workflow(id)) ?? (await store.placed(id));
        return known?.tenant ?? SYSTEM_TENANT;
      } catch (error) {
        onError?.('audit', error);
        // Rows that can't tell whose it is never will.
        if (!(error instanceof UnavailableError)) return SYSTEM_TENANT;
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
      await clock.sleep(AUDIT_POLL_MS, this.#ending.signal);
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
