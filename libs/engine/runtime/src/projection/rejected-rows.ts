/** Owns what is kept of a record that the fold did not take. Pure. */

import type { LogEntry, Offset, Partition } from '@tidemark/core';
import type { RejectedRow } from '@tidemark/ports';

const EVIDENCE_MAX_CHARS = 2_000;

/** `evidence` says what the record was, never what its payload held. */
export function rejectedRow(partition: Partition, entry: LogEntry, reason: string, offset: Offset): RejectedRow {
  if (entry.kind === 'malformed') {
    const evidence = entry.problem.slice(0, EVIDENCE_MAX_CHARS);
    return { partition, offset, workflow: null, type: null, reason, evidence, atMs: 0 };
  }
  if (entry.kind === 'unknown') {
    const { workflow, type, v, generation } = entry;
    return { partition, offset, workflow, type, reason, evidence: JSON.stringify({ v, generation }), atMs: 0 };
  }
  const { workflow, type, id, generation, epoch, holder, ordinal, lamport, control, atMs } = entry.envelope;
  const evidence = JSON.stringify({ id, generation, epoch, holder, ordinal, lamport, control });
  return { partition, offset, workflow, type, reason, evidence: evidence.slice(0, EVIDENCE_MAX_CHARS), atMs };
}
