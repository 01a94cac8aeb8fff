/** Owns the reading and writing of a pipeline's records in the long-term memory, which outlives its runs. */

import type { MemoryWrite } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import type { AnyContext } from './context.ts';

export interface MemoryQuery {
  readonly subject: string;
  readonly kind: 'record';
  readonly key?: string;
  readonly prefix?: string;
  readonly limit?: number;
}

export interface RememberedRow {
  readonly key: string;
  readonly value: Json;
  readonly atMs: number;
  readonly source: string | null;
}

interface WithMemories {
  readonly memories?: (query: MemoryQuery) => Promise<readonly RememberedRow[]>;
}

export const memoriesOf = async (ctx: AnyContext, query: MemoryQuery): Promise<readonly RememberedRow[]> =>
  (await (ctx as WithMemories).memories?.(query)) ?? [];

/** Written with the step's checkpoint. */
export const remembered = (ctx: AnyContext, memories: readonly MemoryWrite[]): object =>
  (ctx as WithMemories).memories === undefined || memories.length === 0 ? {} : { memories };
