/** Owns the input of a trace: an accepted event, with the workflow before and after it. */

import type { EventEntry, StreamState } from '@tidemark/core';

export type TracedEvent = Omit<EventEntry, 'kind'> & {
  /** The workflow before the event; undefined if the event opens it. */
  readonly before: StreamState | undefined;
  readonly after: StreamState;
};

export interface DrawingOptions {
  /** Whether attributes hold requests and answers of models, tools and effects. Off by default, since these may be confidential. */
  readonly content?: boolean | undefined;
}
