/** Owns what a trace is drawn from: an accepted event, with the workflow before and after it. */

import type { LogEntry, StreamState } from '@tidemark/core';

export type TracedEvent = Omit<LogEntry & { readonly kind: 'event' }, 'kind'> & {
  /** Undefined: the workflow begins with it. */
  readonly before: StreamState | undefined;
  readonly after: StreamState;
};

export interface DrawingOptions {
  /** Attributes tell what models, tools and effects were asked and answered; off by default: it may be anyone's words. */
  readonly content?: boolean | undefined;
}
