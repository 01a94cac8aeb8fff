/**
 * Owns the revocation of dead workers' leases: it revokes every folded lease whose holder is dead or, after a grace, no longer lists it.
 * Several coordinators may do so at once: the event's id derives from the lease, so the fold accepts one. A false alarm costs repeated
 * work, never correctness (I3).
 *
 * It often checks which workers live, which is cheap; it reads leases when one has died, and now and then.
 */

import { eventId, type HolderId, type RevokeReason } from '@tidemark/core';
import type { LeaseRow, LivenessView, StreamRow } from '@tidemark/ports';
import { isWorker, type Ports, pollRestMs } from '../kernel/index.ts';
import type { Inbox } from '../lease/index.ts';
import { MARKER_AGE_MS } from '../worker/index.ts';
import type { Demand } from './demand.ts';

/** A lease that its living holder does not list for this long counts as lost, in milliseconds. */
export const GHOST_GRACE_MS = 2_000;
/**
 * Period of the poll of all leases, in milliseconds. It finds lost leases, and claims that land after their writer's death; deaths
 * themselves are acted on at once.
 */
export const LEASE_POLL_PERIOD_MS = 1_000;

/** How long after a worker was last seen its leases may still come to rows, in milliseconds. */
const DEAD_KNOWN_MS = 60_000;

interface Revocation {
  readonly lease: LeaseRow;
  readonly reason: RevokeReason;
  readonly isGone: boolean;
  /** Other leases of the holder, which end with it. */
  readonly beside: number;
}

function countsOf(leases: readonly LeaseRow[]): ReadonlyMap<HolderId, number> {
  const counts = new Map<HolderId, number>();
  for (const { holder } of leases) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  return counts;
}

const leaseName = (lease: LeaseRow): string => `${lease.workflow}:${lease.epoch}`;

export class LeaseKeeper {
  readonly #ports: Pick<Ports, 'store' | 'liveness' | 'clock' | 'telemetry'>;
  readonly #inbox: Inbox;
  readonly #demand: Pick<Demand, 'beginPoll'> | undefined;
  readonly #onView: ((view: LivenessView) => void) | undefined;
  /** Since when, on the monotonic clock, a living holder has not listed a lease that rows give it. */
  #ghosts = new Map<string, number>();
  /** Leases whose revocation is in the log, until rows show it. */
  #revoked = new Set<string>();
  /**
   * Holders whose absence is a reason to poll: those that lived at the last poll, and those whose leases have come to rows since it began.
   */
  #expected = new Set<HolderId>();
  /** How many leases each worker was last known to hold, and when it was last seen: of one that has died some may not be in rows yet. */
  readonly #held = new Map<HolderId, { readonly count: number; readonly seenMs: number }>();
  /** The next check polls the leases even if it is not due. */
  #isWanted = true;
  /** When the next poll is due, on the monotonic clock. */
  #dueMs = 0;

  /** `demand` receives all leases at each poll; `onView` receives the living workers at each check. */
  constructor(
    ports: Pick<Ports, 'store' | 'liveness' | 'clock' | 'telemetry'>,
    inbox: Inbox,
    demand?: Pick<Demand, 'beginPoll'>,
    onView?: (view: LivenessView) => void,
  ) {
    this.#ports = ports;
    this.#inbox = inbox;
    this.#demand = demand;
    this.#onView = onView;
  }

  /** A worker may have died: the next check polls the leases. */
  suspect(): void {
    this.#isWanted = true;
  }

  /**
   * True when written rows give a lease to a worker that was not known to live, which a check must find out. It may be new, or it may have
   * died before its claim was in rows, as workers do that die together with the coordinator.
   */
  applied(streams: readonly Pick<StreamRow, 'holder'>[]): boolean {
    const before = this.#expected.size;
    for (const { holder } of streams) if (holder !== null && isWorker(holder)) this.#expected.add(holder);
    return this.#expected.size > before;
  }

  /** Checks once which workers live; polls all leases when one is missing, or when a poll is due. */
  async check(): Promise<void> {
    if (!this.#isWanted && this.#ports.clock.monotonicMs() < this.#dueMs) {
      const { trusted, holders } = await this.#view();
      if (!trusted) this.#ghosts.clear();
      const isAllThere = [...this.#expected].every((holder) => holders.has(holder));
      // Workers that have come since are watched as well.
      if (trusted && isAllThere) this.#expected = new Set(holders.keys());
      if (!trusted || isAllThere) return;
    }
    this.#isWanted = false;
    try {
      await this.#poll();
    } catch (error) {
      this.#isWanted = true;
      throw error;
    }
  }

  async #poll(): Promise<void> {
    const beganMs = this.#ports.clock.monotonicMs();
    // Leases that come to rows from here on may be missing from the poll.
    this.#expected = new Set();
    // Leases are read first: otherwise a holder that claims meanwhile could be missing from an older view of the living.
    const { leases, view } = await this.#leasesAndHolders();
    const nowMs = this.#ports.clock.monotonicMs();
    this.#dueMs = nowMs + pollRestMs(nowMs - beganMs, LEASE_POLL_PERIOD_MS);
    if (!view.trusted) {
      this.#ghosts.clear();
      // It polls as soon as the view can be trusted.
      this.#isWanted = true;
      return;
    }
    for (const holder of view.holders.keys()) this.#expected.add(holder);
    const ghosts = new Map<string, number>();
    const due: Revocation[] = [];
    let counts: ReadonlyMap<HolderId, number> | undefined;
    for (const lease of leases) {
      const reason = this.#reasonToRevoke(lease, view, ghosts);
      // It polls until rows show the end of the lease: another claim of a dead holder may be on its way.
      if (reason !== undefined) this.#isWanted = true;
      if (reason === undefined || this.#revoked.has(leaseName(lease))) continue;
      const { holder } = lease;
      if (reason === 'lease-not-listed') {
        due.push({ lease, reason, isGone: false, beside: 0 });
        continue;
      }
      counts ??= countsOf(leases);
      due.push({ lease, reason, isGone: view.isGone(holder), beside: this.#heldBy(holder, counts.get(holder)!) - 1 });
    }
    this.#ghosts = ghosts;
    // A possibly lost lease is polled again once its grace is over.
    if (ghosts.size > 0) this.#dueMs = Math.min(this.#dueMs, this.#ports.clock.monotonicMs() + LEASE_POLL_PERIOD_MS);
    const standing = new Set(leases.map(leaseName));
    this.#revoked = new Set([...this.#revoked].filter((name) => standing.has(name)));
    await Promise.all(due.map((each) => this.#revoke(each)));
  }

  async #leasesAndHolders(): Promise<{ readonly leases: readonly LeaseRow[]; readonly view: LivenessView }> {
    const poll = this.#demand?.beginPoll();
    try {
      const leases = await this.#ports.store.leases();
      const view = await this.#view();
      poll?.foundLeases(leases, view.trusted ? view.holders : undefined);
      return { leases, view };
    } finally {
      poll?.end();
    }
  }

  /** The most leases that a dead worker is known to have held at once; rows give it so many now. */
  #heldBy(holder: HolderId, inRows: number): number {
    const { count = 0, seenMs = this.#ports.clock.monotonicMs() } = this.#held.get(holder) ?? {};
    const most = Math.max(count, inRows);
    this.#held.set(holder, { count: most, seenMs });
    return most;
  }

  async #view(): Promise<LivenessView> {
    const view = await this.#ports.liveness.view({ markerAgeMs: MARKER_AGE_MS });
    const seenMs = this.#ports.clock.monotonicMs();
    for (const [holder, listed] of view.holders) this.#held.set(holder, { count: listed.size, seenMs });
    for (const [holder, held] of this.#held) if (seenMs - held.seenMs > DEAD_KNOWN_MS) this.#held.delete(holder);
    this.#onView?.(view);
    return view;
  }

  #reasonToRevoke(lease: LeaseRow, view: LivenessView, ghosts: Map<string, number>): RevokeReason | undefined {
    const listed = view.holders.get(lease.holder);
    if (listed === undefined) return 'holder-dead';
    if (listed.get(lease.workflow) === lease.epoch) return undefined;
    const now = this.#ports.clock.monotonicMs();
    const since = this.#ghosts.get(leaseName(lease)) ?? now;
    ghosts.set(leaseName(lease), since);
    return now - since > GHOST_GRACE_MS ? 'lease-not-listed' : undefined;
  }

  async #revoke({ lease, reason, isGone, beside }: Revocation): Promise<void> {
    const { epoch, holder } = lease;
    await this.#inbox.write(
      lease,
      eventId(`revoke:${leaseName(lease)}`),
      'LeaseRevoked',
      { epoch, holder, reason, isGone, ...(beside > 0 && { beside }) },
      null,
    );
    this.#revoked.add(leaseName(lease));
    this.#ports.telemetry.count('recovery_attempts_total', 1, { action: 'replay', reason });
  }
}
