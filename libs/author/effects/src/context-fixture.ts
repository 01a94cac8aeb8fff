/** Owns the context with which tests call an effect. */

import type { EffectContext, EffectKey } from '@tidemark/sdk';

export const contextOf = (key: string, signal = new AbortController().signal): EffectContext => ({
  key: key as EffectKey,
  signal,
  heartbeat: () => undefined,
});
