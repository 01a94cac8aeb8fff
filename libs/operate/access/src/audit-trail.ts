/**
 * Owns recording who read or did what, for all tenants: concurrent entries are written together, each tenant's into a stream of its own
 * (audit-lane.ts), and no tenant's wait for another's.
 *
 * A1 An entry is in the log within `AUDIT_FLUSH_MS` while the log accepts entries of its tenant. While it doesn't, no request of that
 *    tenant is admitted after `AUDIT_BEHIND_MAX_MS`, and so nothing read or done (R4).
 * A3 An entry that the log will never take is refused by itself, and reported; nothing else waits for it.
 */

import { SYSTEM_TENANT, type TenantId, type TidemarkError, UnavailableError, uuidv7, workflowId } from '@tidemark/core';
import type { AuditEntry, AuditTrail, ProjectionStore } from '@tidemark/ports';
import { AuditBacklog, type WaitingPlace } from './audit-backlog.ts';
import { AuditLane, type AuditLaneOptions, type Waiting } from './audit-lane.ts';
import { AUDIT_DEFINITION, recordOf } from './audit-record.ts';
import { AUDIT_BEHIND_MAX_MS, AUDIT_POLL_MS, AUDIT_RETRY_MS, AUDIT_STREAM_MAX_MS } from './limits.ts';

/** Abandoned streams that one poll lists. */
const AUDIT_STREAMS_READ_MAX = 10_000;

export interface WrittenTrailOptions extends Pick<AuditLaneOptions, 'streams' | 'clock' | 'prng' | 'digest'> {
  readonly store: Pick<ProjectionStore, 'workflow' | 'workflows' | 'placed'>;
  /** Called for every write that failed and is retried, and for every entry that will never be written. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

/** Outcome of an entry; open until one of these is called. */
interface Fate {
  isWritten?: boolean;
  failure?: TidemarkError | undefined;
}

export class WrittenTrail implements AuditTrail {
  readonly #options: WrittenTrailOptions;
  readonly #lanes = new Map<TenantId, AuditLane>();
  /** Entries that the log has not taken yet. */
  readonly #backlog = new AuditBacklog();
  /** End the waiting of callers that wait for an entry. */
  readonly #waiters = new Set<() => void>();
  /** Entries whose tenant is being looked up. */
  readonly #routing = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #polling: Promise<void> | undefined;

  constructor(options: WrittenTrailOptions) {
    this.#options = options;
  }

  /** Periodically ends streams that are idle or full here, and those that a dead process left open. */
  start(): void {
    this.#polling ??= this.#pollPeriodically();
  }

  admit(tenant: TenantId | null): void {
    const nowMs = this.#options.clock.monotonicMs();
    const lanes = tenant === null ? [null, SYSTEM_TENANT] : [tenant];
    const isBehind = lanes.some((whose) => this.#backlog.isBehind(whose, nowMs));
    if (isBehind || this.#ending.signal.aborted) throw behind();
  }

  /** An admitted entry is taken: beyond the limit there are only as many as were under way at once. */
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

  /** Resolves when nothing waits; for callers that show recent entries, and for tests. */
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
    await this.#polling;
    if (!late.signal.aborted) return;
    await written;
    for (const lane of this.#lanes.values()) await lane.end();
  }

  /** Calls `onOver` once the returned object has the outcome, or nothing is written any more. */
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

  /** An action of a caller without tenant on a workflow is recorded with the workflow's tenant. Undefined: nothing is written any more. */
  async #tenantOf(target: string | null): Promise<TenantId | undefined> {
    if (target === null) return SYSTEM_TENANT;
    const { store, clock, onError } = this.#options;
    while (!this.#ending.signal.aborted) {
      try {
        const id = workflowId(target);
        // A workflow that has just started is placed before rows know it.
        const known = (await store.workflow(id)) ?? (await store.placed(id));
        return known?.tenant ?? SYSTEM_TENANT;
      } catch (error) {
        onError?.('audit', error);
        // If rows can't say whose it is now, they never will.
        if (!(error instanceof UnavailableError)) return SYSTEM_TENANT;
        await clock.sleep(AUDIT_RETRY_MS, this.#ending.signal);
      }
    }
    return undefined;
  }

  async #pollPeriodically(): Promise<void> {
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

  /** No process writes to a stream that is twice as old as one gets. Two processes may find the same one: the log refuses one of them. */
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
    'Earlier entries could not be written yet, and nothing may be read or done until they are: the log is unreachable or slow. Try again.',
  );
