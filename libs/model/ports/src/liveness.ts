/**
 * Owns the contract of liveness: which incarnations live, and which leases they report. Correctness doesn't depend on who counts as alive: a
 * false alarm costs repeated work. It does depend on who counts as gone: that must be known, never guessed.
 */

import type { Epoch, HolderId, WorkflowId } from '@tidemark/core';

export interface ReportedLease {
  readonly workflow: WorkflowId;
  readonly epoch: Epoch;
}

/** What a worker announces about its code. */
export interface Announcement {
  /** Absent: it is unknown. */
  readonly build?: string | undefined;
  /** Keys of the routes of which it takes jobs. */
  readonly serves: readonly string[];
  /** Keys of those on which it retries tasks that failed on another build. */
  readonly routes: readonly string[];
  /** Workflows that it runs at once, at most; absent: it is unknown. */
  readonly concurrency?: number | undefined;
}

export interface LivenessView {
  /**
   * False while a missing beat proves nothing: the coordinators' own marker has existed for less than two beat periods (the store was
   * flushed, is new, or is unreachable). Nobody may be revoked then.
   */
  readonly trusted: boolean;
  /** Live incarnations, each with the leases that it reports. Unchanged leases are the same object as in the last view. */
  readonly holders: ReadonlyMap<HolderId, ReadonlyMap<WorkflowId, Epoch>>;
  /** What the live incarnations announce: by build, the keys of the routes on which they retry. */
  readonly builds: ReadonlyMap<string, ReadonlySet<string>>;
  /** What each of them announces; nothing of one that said nothing yet, or that takes no more jobs. */
  readonly announced: ReadonlyMap<HolderId, Announcement>;
  /**
   * Whether the process of an incarnation that doesn't live is known to have ended. One of which that isn't known may be stopped or cut off,
   * and go on at any time.
   */
  readonly isGone: (holder: HolderId) => boolean;
}

/** Merges the announcements of several workers. */
export function buildsOf(announced: Iterable<Announcement>): Map<string, Set<string>> {
  const builds = new Map<string, Set<string>>();
  for (const one of announced) {
    if (one.build === undefined || one.routes.length === 0) continue;
    const known = builds.get(one.build) ?? new Set();
    for (const route of one.routes) known.add(route);
    builds.set(one.build, known);
  }
  return builds;
}

export interface Liveness {
  /**
   * Beats once for this incarnation, and keeps its connections to the coordinators. The beat counts for `ttlMs`. While the incarnation has
   * an open connection with a living coordinator it counts for `stallMs` (by default the same), since its process then exists and only its
   * event loop is blocked. Within one process, where the watcher can't outlive the worker, it counts until `leave` or `vanish`. Returns
   * false, and never throws, when the server is unreachable. The announcement is the same at every beat, and absent once the incarnation takes
   * no more jobs. `onShare` of the first beat receives what `share` says.
   */
  beat(
    holder: HolderId,
    leases: readonly ReportedLease[],
    ttlMs: number,
    stallMs?: number,
    announced?: Announcement,
    onShare?: (max: number) => void,
  ): Promise<boolean>;
  /** For a coordinator: asks a living holder to keep so many leases, and to give the rest to others. It may be lost, and come twice. */
  share(holder: HolderId, max: number): void;
  /** Reports at once that the incarnation has ended. Only leases that it could not release remain to be taken over. */
  leave(holder: HolderId): Promise<void>;
  /** Disappears without `leave`, as a killed process does; watchers notice, and know that it is gone. For tests. */
  vanish(holder: HolderId): Promise<void>;
  /**
   * For a coordinator: accepts holders' connections from now on. Calls `onGone` as soon as a holder's last connection here closed without
   * `leave` and was not reopened within a short grace; the next view says whether the holder lives all the same. Resolves to a function
   * that ends it silently. Throws `ConfigError` when it can't listen.
   */
  watch(onGone: (holder: HolderId) => void): Promise<() => Promise<void>>;
  /**
   * Renews the coordinators' marker and reads all beats. `markerAgeMs` is how long the marker must have existed. Returns `trusted: false`
   * when the server is unreachable.
   */
  view(options: { readonly markerAgeMs: number }): Promise<LivenessView>;
  close(): Promise<void>;
}
