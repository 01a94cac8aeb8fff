/** Owns the shares of a roll-out, and who runs a workflow. Light, since a command that only calls reads it. */

import { InvalidError } from '@tidemark/core';
import { SHADOW_SHARES } from './shadow-limits.ts';

/** Percentage of observed workflows. */
export type ShadowShare = (typeof SHADOW_SHARES)[number];

/** Who runs a workflow: its agent, which observes it or not, or Tidemark. */
export type ShadowRoute = 'agent' | 'observed' | 'tidemark';

/** Throws `InvalidError` (`shadow-share-invalid`) for any other number. */
export function asShare(percent: number): ShadowShare {
  const share = SHADOW_SHARES.find((known) => known === percent);
  if (share !== undefined) return share;
  throw new InvalidError(
    'shadow-share-invalid',
    `A share of ${percent} % is not one of ${SHADOW_SHARES.join(', ')} %.`,
    { percent },
  );
}

/** What an agent's runs are promoted to: a share that is observed, or one of it that Tidemark runs itself. */
export type ShadowMode = 'observe' | 'active';

/** The share after this one; undefined after the last. One percent is only observed: of so few, Tidemark would run hardly any. */
export const shareAfter = (share: ShadowShare, mode: ShadowMode): ShadowShare | undefined =>
  SHADOW_SHARES.find((next) => next > share && (mode === 'observe' || next > 1));
