/** Owns the contract of what is remembered of the live export of traces: how far each partition's spans were handed on. */

import type { Offset, Partition } from '@tidemark/core';

export interface TraceStore {
  /**
   * How far each partition's spans were handed on, or given up; partitions without an entry: from their beginning. When nothing was
   * remembered yet (tracing is new here, or the rows were lost), all of them begin where the rows stand now. Throws `UnavailableError`.
   */
  tracedTo(): Promise<ReadonlyMap<Partition, Offset>>;
  /** Remembers it; never goes back. One statement. */
  advanceTraced(to: ReadonlyMap<Partition, Offset>): Promise<void>;
}
