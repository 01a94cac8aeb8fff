/** Owns making rows anew on what a process has opened; see RowsRebuild. */

import type { StoreRebuild } from '@tidemark/ports';
import { RowsRebuild, type RowsRebuildOptions } from '@tidemark/runtime';
import { type Below, viewsOver } from './tiers.ts';

export interface RebuildRole extends Pick<RowsRebuildOptions, 'onProgress'> {
  /** Told of every failure that was outlived. */
  readonly onError?: (error: unknown) => void;
}

export interface Rebuild {
  readonly rows: RowsRebuild;
  /** What was folded stays, to be gone on from. */
  close(): Promise<void>;
}

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
    ...(onProgress !== undefined && { onProgress }),
    ...(onError !== undefined && { onError }),
  });
  return { rows, close };
}
