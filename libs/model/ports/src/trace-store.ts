/** Owns the contract of the live export of traces: how far each partition's spans were exported. */

import type { Offset, Partition } from '@tidemark/core';

export interface TraceStore {
  /**
   * How far each partition's spans were exported, or given up; a partition without an entry: from its beginning. When nothing was recorded
   * yet (tracing is new here, or the rows were lost), all of them begin at the rows' current position. Throws `UnavailableError`.
   */
  tracedTo(): Promise<ReadonlyMap<Partition, Offset>>;
  /** Records it; never goes back. One statement. */
  advanceTraced(to: ReadonlyMap<Partition, Offset>): Promise<void>;
}
