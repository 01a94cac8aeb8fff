/**
 * Owns the comparison of rows whose texts are sealed: each side is opened, as readers of rows would find it. It does not know
 * how texts are opened, and never reveals them.
 */

import { textSealedWith } from '@tidemark/codec';
import { CorruptError, type Sequence, type WorkflowId } from '@tidemark/core';
import type { ClosedTexts, CompareContents, MemoryRow, ScopeRow, WorkflowSummary } from '@tidemark/ports';
import * as rows from './row-texts.ts';
import type { ContentTransform } from './transformed-store.ts';

type Texts = ClosedTexts['made'];

/** The texts of a row of each table, by column. */
const TURNS: Readonly<Record<string, (key: ClosedTexts['key'], texts: Texts, turn: rows.TransformText) => Texts>> = {
  workflows: ({ workflow }, { result }, turn) => ({
    result: rows.turnSummary({ workflow, result } as WorkflowSummary, turn).result,
  }),
  scopes: ({ workflow, sequence }, { change }, turn) => ({
    change: rows.turnScope({ workflow, sequence: Number(sequence) as Sequence, change } as ScopeRow, turn).change,
  }),
  texts: ({ workflow, digest }, { text }, turn) => ({
    text: rows.turnNamed(workflow as WorkflowId)({ digest: digest!, text: text! }, turn).text,
  }),
  memories: (key, { value }, turn) => ({ value: rows.turnMemory({ ...key, value } as MemoryRow, turn).value }),
};

/** Compares rows of one table. Throws `UnavailableError` where keys are unavailable. */
export const contentsThrough =
  (transform: ContentTransform): CompareContents =>
  async (closed) => {
    const turnTexts = TURNS[closed[0]?.table ?? ''];
    if (turnTexts === undefined) return closed.map(() => undefined);
    try {
      const opened = await transform.outward((turn) =>
        closed.map(({ key, inUse, made }) => ({
          inUse: turnTexts(key, inUse, turn),
          made: turnTexts(key, made, turn),
        })),
      );
      return opened.map(({ inUse, made }) => differing(inUse, made));
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      // A text was sealed for another place or truncated: opening each row alone shows which one.
      if (closed.length === 1) return [Object.keys(closed[0]!.inUse)];
      const each: (readonly string[] | undefined)[] = [];
      for (const row of closed) each.push(...(await contentsThrough(transform)([row])));
      return each;
    }
  };

function differing(inUse: Texts, made: Texts): readonly string[] | undefined {
  const columns = Object.keys(made).filter((column) => inUse[column] !== made[column]);
  const isOpen = columns.every((column) => !isClosedText(inUse[column]) && !isClosedText(made[column]));
  return isOpen ? columns : undefined;
}

const isClosedText = (text: string | null | undefined): boolean =>
  typeof text === 'string' && textSealedWith(text) !== undefined;
