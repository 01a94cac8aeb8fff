/** Owns rebuilding rows on what a process has opened; see RowsRebuild. */

import type { StoreRebuild, UnfinishedRebuild } from '@tidemark/ports';
import { contentsThrough, RowsRebuild, type RowsRebuildOptions, SealedTexts } from '@tidemark/runtime';
import { unfinishedPostgresRebuild } from '@tidemark/store-postgres';
import type { ClusterConfig } from './config.ts';
import { type Below, viewsOver } from './tiers.ts';

export interface RebuildRole extends Pick<RowsRebuildOptions, 'onProgress'> {
  /** Called for every failure after which the rebuild goes on. */
  readonly onError?: (error: unknown) => void;
}

export interface Rebuild {
  readonly rows: RowsRebuild;
  /** Keeps the rows that were rebuilt, so that a later rebuild resumes there. */
  close(): Promise<void>;
}

/** The state of a rebuild of the cluster's rows that another process left, or is running. Throws `UnavailableError`. */
export const unfinishedClusterRebuild = ({
  postgres,
}: Pick<ClusterConfig, 'postgres'>): Promise<UnfinishedRebuild | undefined> => unfinishedPostgresRebuild(postgres);

export function rebuildOver(
  below: Omit<Below, 'store'>,
  target: StoreRebuild,
  { onProgress, onError }: RebuildRole,
  close: () => Promise<void>,
): Rebuild {
  const { log, store, tiers } = viewsOver({ ...below, store: target.store });
  const rows = new RowsRebuild({
    target,
    rows: store,
    log,
    archived: tiers,
    clock: below.clock,
    // Texts are sealed with the keys that exist.
    contents: below.keys && contentsThrough(new SealedTexts(below.keys.workflows)),
    ...(onProgress !== undefined && { onProgress }),
    ...(onError !== undefined && { onError }),
  });
  return { rows, close };
}
