/** Owns the context that tests call an effect with. */

import type { EffectContext, EffectKey } from '@tidemark/sdk';

export const contextOf = (key: string, signal = new AbortController().signal): EffectContext => ({
  key: key as EffectKey,
  signal,
  heartbeat: () => undefined,
});
