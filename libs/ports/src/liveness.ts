/**
 * Owns the contract of liveness: which incarnations live and which leases they hold by their own word. It decides
 * nothing that correctness rests on: a false alarm costs repeated work (architecture, section 5).
 */

import type { Epoch, HolderId, WorkflowId } from '@tidemark/core';

export interface HeldLease {
  readonly workflow: WorkflowId;
  readonly epoch: Epoch;
}

export interface LivenessView {
  /**
   * False while a missing beat proves nothing: the coordinators' own marker has not stood for two beat periods (the
   * store was flushed, is new, or is away). Nobody may be revoked then.
   */
  readonly trusted: boolean;
  /** Live incarnations, each with the leases it says that it holds. */
  readonly holders: ReadonlyMap<HolderId, ReadonlyMap<WorkflowId, Epoch>>;
}

export interface Liveness {
  /** Beats once for this incarnation; the beat counts for `ttlMs`. Never throws for an absent server: returns false. */
  beat(holder: HolderId, leases: readonly HeldLease[], ttlMs: number): Promise<boolean>;
  /** Says at once that the incarnation is gone. */
  leave(holder: HolderId): Promise<void>;
  /**
   * Keeps the coordinators' marker standing and reads all beats. `markerAgeMs` is how long the marker must have stood.
   * Returns `trusted: false` when the server is away.
   */
  view(options: { readonly markerAgeMs: number }): Promise<LivenessView>;
  close(): Promise<void>;
}
