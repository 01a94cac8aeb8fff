/** Owns what a lost connection means: the holder of a folder doesn't come back, and a server is retried. */

import { UnavailableError } from '@tidemark/core';
import type { Place } from './place.ts';

/** Throws `UnavailableError` (`holder-gone`) where another process held the folder. `own`: the folder is this process's. */
export const failIfHolderGone =
  ({ kind, holder }: Place, own?: unknown) =>
  (cause: unknown): void => {
    if (kind === 'server' || own !== undefined) return;
    const { pid, command } = holder ?? {};
    const message = `Process ${pid} (tidemark ${command}), which held the state, has ended.`;
    throw new UnavailableError('holder-gone', message, { pid, cause });
  };
