/**
 * Owns the contract of liveness: which incarnations live and which leases they hold by their own word. It decides
 * nothing that correctness rests on: a false alarm costs repeated work (architecture, section 5).
 */

import type { Epoch, HolderId, WorkflowId } from '@tidemark/core';

export interface HeldLease {
  readonly workflow: WorkflowId;
  readonly epoch: Epoch;
}

/** What a worker says of its code. */
export interface Announcement {
  readonly build: string;
  /** Keys of the routes on which tasks that failed on another build are to go on by themselves. */
  readonly routes: readonly string[];
}

export interface LivenessView {
  /**
   * False while a missing beat proves nothing: the coordinators' own marker has not stood for two beat periods (the
   * store was flushed, is new, or is away). Nobody may be revoked then.
   */
  readonly trusted: boolean;
  /** Live incarnations, each with the leases it says that it holds. The same leases are the same object as in the last view. */
  readonly holders: ReadonlyMap<HolderId, ReadonlyMap<WorkflowId, Epoch>>;
  /** What the live incarnations announce: by build, the keys of its routes. */
  readonly builds: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What several workers announce, taken together. */
export function buildsOf(announced: Iterable<Announcement | undefined>): Map<string, Set<string>> {
  const builds = new Map<string, Set<string>>();
  for (const one of announced) {
    if (one === undefined) continue;
    const known = builds.get(one.build) ?? new Set();
    for (const route of one.routes) known.add(route);
    builds.set(one.build, known);
  }
  return builds;
}

export interface Liveness {
  /**
   * Beats once for this incarnation, and keeps its connections to the coordinators. The beat counts for `ttlMs`; for
   * `stallMs` (by default the same) while the incarnation has a standing connection with a living coordinator, since then
   * its process is there and only its event loop is blocked. Where who looks can't outlive who beats (one process), it
   * counts until `leave` or `vanish`. Never throws for an absent server: returns false. What it announces is the same at every beat.
   */
  beat(
    holder: HolderId,
    leases: readonly HeldLease[],
    ttlMs: number,
    stallMs?: number,
    announced?: Announcement,
  ): Promise<boolean>;
  /** Says at once that the incarnation is gone, with nothing left to take over but what it could not let go. */
  leave(holder: HolderId): Promise<void>;
  /** Vanishes without a word, as a killed process does: watchers are told. For tests. */
  vanish(holder: HolderId): Promise<void>;
  /**
   * For a coordinator: takes holders' connections from now on. `onGone` is told at once of a holder whose last connection
   * here has closed without a farewell and that did not come back within a short grace; the next view says whether it
   * lives all the same. Resolves to what ends it, which tells of nobody. Throws `ConfigError` when it can't listen.
   */
  watch(onGone: (holder: HolderId) => void): Promise<() => Promise<void>>;
  /**
   * Keeps the coordinators' marker standing and reads all beats. `markerAgeMs` is how long the marker must have stood.
   * Returns `trusted: false` when the server is away.
   */
  view(options: { readonly markerAgeMs: number }): Promise<LivenessView>;
  close(): Promise<void>;
}
