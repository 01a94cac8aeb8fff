/** Owns the form of an event that a holder is to append. */

import type { Payloads } from '@tidemark/codec';
import type { Controls, HolderEventType } from '@tidemark/core';

/** An event to append. `stage` adds its id, time, fencing token and ordinal. */
export type Draft = {
  readonly [T in HolderEventType]: {
    readonly type: T;
    readonly control: Controls[T];
    readonly payload: Payloads[T];
  };
}[HolderEventType];
