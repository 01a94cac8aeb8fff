/**
 * Owns a holder's reads of its workflow's context from rows: rows that are being rebuilt, or that went back with a database that
 * crashed, hold less than there was, and are waited for.
 */

import type { ForkOrigin } from '@tidemark/codec';
import type { Sequence } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import type { MemoryEntry, MemoryQuery } from '../definition/index.ts';
import { lineageReads } from '../history/index.ts';
import { type Ports, whileUnavailable } from '../kernel/index.ts';
import type { LeasedStream } from '../lease/index.ts';
import { MEMORIES_READ_DEFAULT_COUNT } from './limits.ts';

export type HolderReads = Pick<
  ProjectionStore,
  'fragments' | 'texts' | 'trace' | 'scopes' | 'session' | 'memories' | 'spent' | 'lamportOf'
>;

interface Dependencies {
  readonly ports: Pick<Ports, 'store' | 'clock'>;
  readonly stream: LeasedStream;
  readonly signal: AbortSignal;
}

/** `fork`: what the workflow goes on from, where it is one. */
export function contextReads({ ports, stream, signal }: Dependencies, fork?: ForkOrigin): HolderReads {
  const { store, clock } = ports;
  // Rows once held all that the claim was made on, and all that a fork shares.
  const { workflow, head, position } = stream.confirmed;
  const held = [{ workflow, upTo: head.sequence, position }, ...(fork?.shares ?? [])];
  const whole = <T>(read: () => Promise<T>): Promise<T> =>
    whileUnavailable(clock, signal, async () => {
      for (const of of held) {
        await store.checkpoints(of.workflow, { from: of.upTo as Sequence, limit: 1, since: of.position });
      }
      return read();
    });
  const reads: Pick<HolderReads, 'fragments' | 'texts' | 'trace' | 'scopes'> = {
    fragments: (of, upTo) => whole(() => store.fragments(of, upTo)),
    texts: (of, digests) => whole(() => store.texts(of, digests)),
    trace: (of, upTo, count) => whole(() => store.trace(of, upTo, count)),
    scopes: (of, upTo) => whole(() => store.scopes(of, upTo)),
  };
  return {
    ...(fork === undefined ? reads : lineageReads(reads, workflow, fork)),
    session: (...of) => whole(() => store.session(...of)),
    memories: (query) => whole(() => store.memories(query)),
    lamportOf: (...of) => whole(() => store.lamportOf(...of)),
    spent: (...of) => whole(() => store.spent(...of)),
  };
}

/** Entries as a step sees them. */
export async function readMemories(
  { ports, stream, signal }: Dependencies,
  { subject, kind, key, prefix, limit = MEMORIES_READ_DEFAULT_COUNT }: MemoryQuery,
): Promise<readonly MemoryEntry[]> {
  const { tenant } = stream.confirmed;
  const query = {
    tenant,
    subject,
    kind,
    limit,
    ...(key !== undefined && { key }),
    ...(prefix !== undefined && { prefix }),
  };
  const rows = await whileUnavailable(ports.clock, signal, () => ports.store.memories(query));
  return rows.map((row) => ({ key: row.key, value: JSON.parse(row.value), source: row.source, atMs: row.atMs }));
}
