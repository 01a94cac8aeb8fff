/** Owns the input of a trace: an accepted event, with the workflow before and after it. */

import type { LogEntry, StreamState } from '@tidemark/core';

export type TracedEvent = Omit<LogEntry & { readonly kind: 'event' }, 'kind'> & {
  /** Undefined: the workflow begins with it. */
  readonly before: StreamState | undefined;
  readonly after: StreamState;
};

export interface DrawingOptions {
  /** Attributes hold requests and answers of models, tools and effects; off by default: they may be anyone's words. */
  readonly content?: boolean | undefined;
}
