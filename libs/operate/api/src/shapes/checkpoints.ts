/** Owns checkpoints with all that is known of each beside its record: its effects, its status, and what memory held right after it. Reads rows. */

import { maskSecrets } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';
import { compensatedCheckpoints, type Definition, type PastScope, scopesAfter } from '@tidemark/runtime';
import type { Backend } from '../backend.ts';
import { checkpointJson } from './history.ts';

export interface CheckpointPoint {
  /** Null: it is the opening. */
  readonly checkpoint: ReturnType<typeof checkpointJson> | null;
  readonly memory_scope_snapshot: ReturnType<typeof scopesJson>;
  /** What working memory held, with secret fields masked. */
  readonly working_memory: { readonly [key: string]: Json };
}

/** Of rows that follow one another, as they come from `checkpoints`. A number of reads that doesn't grow with theirs. */
export async function checkpointPoints(
  { reads, definitions }: Pick<Backend, 'reads' | 'definitions'>,
  row: WorkflowSummary,
  rows: readonly CheckpointRow[],
): Promise<readonly CheckpointPoint[]> {
  const { workflow } = row;
  const versionOf = (version: number): Definition | undefined =>
    definitions.find((one) => one.name === row.definition && one.version === version);
  const firstPhase = versionOf(rows[0]?.stepVersion ?? row.version)?.context?.firstPhase;
  const tasks = rows.flatMap(({ task }) => task ?? []);
  const committed = rows.filter(({ sequence }) => sequence > 0);
  const sequences = committed.map(({ sequence }) => sequence);
  const [listings, corrections, scopes] = await Promise.all([
    tasks.length === 0 ? [] : reads.effectListings(workflow, { tasks }),
    sequences.length === 0 ? [] : reads.corrections(workflow, sequences),
    scopesAfter(reads, workflow, rows, { isFork: row.fork !== undefined, firstPhase }),
  ]);
  const compensated = await compensatedCheckpoints(reads, row, committed, listings);
  const effects = Map.groupBy(listings, ({ task }) => task);
  const corrected = new Map(corrections.map((one) => [one.supersedes, one.sequence]));
  return rows.map((each, at) => {
    const scope = scopes[at]!;
    const memory_scope_snapshot = scopesJson(scope, versionOf(each.stepVersion));
    const became = {
      isCompensated: compensated?.has(each.sequence) ?? null,
      supersededBy: corrected.get(each.sequence) ?? null,
    };
    const own = (each.task && effects.get(each.task)) ?? [];
    const checkpoint = each.sequence === 0 ? null : checkpointJson(each, own, became, memory_scope_snapshot);
    return {
      ...{ checkpoint, memory_scope_snapshot },
      working_memory: maskSecrets(scope.memory) as CheckpointPoint['working_memory'],
    };
  });
}

/** Names and sizes of the three scopes. `definition`: the version that made the checkpoint, where this process has it. */
function scopesJson({ phase, memory, traceLength, ...size }: PastScope, definition: Definition | undefined) {
  const keys = Object.keys(memory).sort();
  const { tokens = keys.length === 0 ? 0 : null, budgetTokens } = size;
  return {
    system_context: { keys: definition === undefined ? null : definition.context?.system ? ['system'] : [] },
    working_memory: {
      phase: phase === '' ? null : phase,
      keys,
      tokens,
      budget_tokens: budgetTokens ?? definition?.context?.phases.get(phase)?.budgetTokens ?? null,
    },
    trace: { length: traceLength },
  };
}

export type ScopesJson = ReturnType<typeof scopesJson>;

/** Of a workflow whose history was deleted. */
export const NO_POINT: CheckpointPoint = {
  checkpoint: null,
  memory_scope_snapshot: scopesJson({ phase: '', memory: {}, gone: {}, traceLength: 0 }, undefined),
  working_memory: {},
};
