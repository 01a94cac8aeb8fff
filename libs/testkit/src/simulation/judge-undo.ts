/**
 * Owns the judgement of compensation, from the ledger and the log: everything that was applied is compensated once, in reverse order, by
 * one workflow. Must not ask the fleet what it believes.
 */

import type { LedgerEntry } from './outside.ts';
import type { History, WitnessedEffect } from './witness.ts';

/** `undone`: workflows that ended as compensated. */
export function checkCompensated(
  compensated: Iterable<string>,
  ledger: ReadonlyMap<string, LedgerEntry>,
  effects: ReadonlyMap<string, Pick<WitnessedEffect, 'intendedAt' | 'knownAt'>>,
): string[] {
  return [...compensated].flatMap((workflow) => {
    const applied = [...ledger].filter(([, entry]) => entry.workflow === workflow);
    const violations = applied.flatMap(([key, { ref }]) => {
      const count = undoings(ledger, ref).length;
      return count === 1 ? [] : [`undo: ${key} was compensated ${count} times`];
    });
    return [...violations, ...checkOrder(applied, ledger, effects)];
  });
}

const undoings = (ledger: ReadonlyMap<string, LedgerEntry>, ref: string | undefined): readonly LedgerEntry[] =>
  [...ledger.values()].filter((entry) => entry.receiver === 'undo' && entry.ref === ref);

/** A call made once the outcome of another was known came after it, and is compensated before it. */
function checkOrder(
  applied: readonly (readonly [string, LedgerEntry])[],
  ledger: ReadonlyMap<string, LedgerEntry>,
  effects: ReadonlyMap<string, Pick<WitnessedEffect, 'intendedAt' | 'knownAt'>>,
): string[] {
  const violations: string[] = [];
  for (const [first, { ref: firstRef }] of applied) {
    for (const [second, { ref: secondRef }] of applied) {
      const known = effects.get(first)?.knownAt ?? Number.POSITIVE_INFINITY;
      if (known > (effects.get(second)?.intendedAt ?? 0)) continue;
      const [firstUndo] = undoings(ledger, firstRef);
      const [secondUndo] = undoings(ledger, secondRef);
      if (firstUndo === undefined || secondUndo === undefined || secondUndo.at < firstUndo.at) continue;
      violations.push(`undo: ${first} was compensated before ${second}, which came after it`);
    }
  }
  return violations;
}

/** One undo workflow for each compensated one, and only for those. */
export function checkUndoWorkflows(histories: Iterable<Pick<History, 'entries' | 'verdicts'>>): string[] {
  const begun = new Set<string>();
  const opened = new Map<string, number>();
  for (const { entries, verdicts } of histories) {
    for (const [at, entry] of entries.entries()) {
      if (entry.kind !== 'event' || verdicts[at]?.kind !== 'accepted') continue;
      const { type, control, workflow } = entry.envelope;
      if (type === 'CompensationStarted') begun.add(workflow);
      if (type !== 'WorkflowOpened' || control.compensates === null) continue;
      const parent = control.compensates.workflow;
      opened.set(parent, (opened.get(parent) ?? 0) + 1);
    }
  }
  return [...opened].flatMap(([parent, count]) => [
    ...(count > 1 ? [`undo: ${count} workflows were opened to undo ${parent}`] : []),
    ...(begun.has(parent) ? [] : [`undo: a workflow was opened to undo ${parent}, which goes on`]),
  ]);
}
