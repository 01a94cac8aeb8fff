/**
 * Owns the end of dead workers' leases: revokes every folded lease whose incarnation is dead or, after a grace, does not
 * list it. Several coordinators may do so at once: the event's id derives from the lease, so the fold takes one. A false
 * alarm costs repeated work, never correctness (I3).
 */

import { eventId, type RevokeReason } from '@tidemark/core';
import type { LeaseRow, LivenessView } from '@tidemark/ports';
import type { Inbox } from './inbox.ts';
import { GHOST_GRACE_MS, MARKER_AGE_MS } from './limits.ts';
import type { Ports } from './ports.ts';

const leaseName = (lease: LeaseRow): string => `${lease.workflow}:${lease.epoch}`;

export class LeaseKeeper {
  readonly #ports: Pick<Ports, 'store' | 'liveness' | 'clock' | 'telemetry'>;
  readonly #inbox: Inbox;
  /** Since when, on the monotonic clock, a live holder hasn't listed a lease that the rows give it. */
  #ghosts = new Map<string, number>();
  /** Leases whose revocation is in the log, until the rows say so. */
  #revoked = new Set<string>();

  constructor(ports: Pick<Ports, 'store' | 'liveness' | 'clock' | 'telemetry'>, inbox: Inbox) {
    this.#ports = ports;
    this.#inbox = inbox;
  }

  /** Looks once at all live leases. */
  async check(): Promise<void> {
    // Leases first: a holder that claims while this runs must not be missed in an older view of the living.
    const leases = await this.#ports.store.leases();
    const view = await this.#ports.liveness.view({ markerAgeMs: MARKER_AGE_MS });
    if (!view.trusted) {
      this.#ghosts.clear();
      return;
    }
    const ghosts = new Map<string, number>();
    const due: { lease: LeaseRow; reason: RevokeReason }[] = [];
    for (const lease of leases) {
      const reason = this.#reasonToRevoke(lease, view, ghosts);
      if (reason !== undefined && !this.#revoked.has(leaseName(lease))) due.push({ lease, reason });
    }
    this.#ghosts = ghosts;
    const standing = new Set(leases.map(leaseName));
    this.#revoked = new Set([...this.#revoked].filter((name) => standing.has(name)));
    await Promise.all(due.map(({ lease, reason }) => this.#revoke(lease, reason)));
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

  async #revoke(lease: LeaseRow, reason: RevokeReason): Promise<void> {
    const { epoch, holder } = lease;
    await this.#inbox.write(
      lease,
      eventId(`revoke:${leaseName(lease)}`),
      'LeaseRevoked',
      { epoch, holder, reason },
      null,
    );
    this.#revoked.add(leaseName(lease));
    this.#ports.telemetry.count('recovery_attempts_total', 1, { action: 'replay', reason });
  }
}
