/**
 * Owns the comparison of rows whose texts are sealed or in blobs: each side is read through a view that opens it, as readers of rows would.
 * It does not know how texts are opened, and never reveals them.
 */

import { textSealedWith } from '@tidemark/codec';
import { CorruptError, type Sequence, type TenantId, type WorkflowId } from '@tidemark/core';
import {
  blobReferenceOf,
  type ClosedTexts,
  type CompareContents,
  type MemoryKind,
  type MemoryRow,
  type ProjectionStore,
  type RowStore,
  type ScopeRow,
  type WorkflowSummary,
} from '@tidemark/ports';

/** A view of rows that opens the texts below it. */
export type ViewOf = (rows: RowStore) => Pick<ProjectionStore, 'workflows' | 'scopes' | 'texts' | 'memories'>;

type Texts = Readonly<Record<string, string | null>>;
type Named = Pick<ClosedTexts, 'key'> & { readonly texts: Texts };

/** Returns the opened texts of each row. */
type Opener = (viewOf: ViewOf, rows: readonly Named[]) => Promise<readonly Texts[]>;

/** No limit. */
const ALL = { limit: Number.MAX_SAFE_INTEGER };
const NOBODY = '' as WorkflowId;

/** A store with these rows, which answers only this one query. */
const having = (reads: Partial<RowStore>): RowStore => reads as RowStore;

const workflowOf = ({ key }: Named): WorkflowId => key.workflow as WorkflowId;
const sequenceOf = ({ key }: Named): Sequence => Number(key.sequence) as Sequence;

const OPENERS: Readonly<Record<string, Opener>> = {
  workflows: async (viewOf, rows) => {
    const given = rows.map((row) => ({ workflow: workflowOf(row), result: row.texts.result }) as WorkflowSummary);
    const opened = await viewOf(having({ workflows: async () => given })).workflows(ALL);
    return opened.map(({ result }) => ({ result }));
  },
  scopes: async (viewOf, rows) => {
    const given = rows.map(
      (row) => ({ workflow: workflowOf(row), sequence: sequenceOf(row), change: row.texts.change }) as ScopeRow,
    );
    const opened = await viewOf(having({ scopes: async () => given })).scopes(NOBODY, 0 as Sequence);
    return opened.map(({ change }) => ({ change }));
  },
  texts: async (viewOf, rows) => {
    // Each text is bound to the workflow in the query.
    const opening = rows.map(async (row) => {
      const given = [{ digest: row.key.digest!, text: row.texts.text! }];
      const [opened] = await viewOf(having({ texts: async () => given })).texts(workflowOf(row), []);
      return { text: opened!.text };
    });
    return Promise.all(opening);
  },
  memories: async (viewOf, rows) => {
    const given = rows.map(({ key, texts }) => {
      const { tenant, subject, kind } = key as { tenant: TenantId; subject: string; kind: MemoryKind };
      return { tenant, subject, kind, key: key.key, value: texts.value } as MemoryRow;
    });
    const { tenant, subject } = given[0]!;
    const opened = await viewOf(having({ memories: async () => given })).memories({ tenant, subject, ...ALL });
    return opened.map(({ value }) => ({ value }));
  },
};

/** Compares rows of one table. Throws `UnavailableError` where keys or blobs are unavailable. */
export const contentsThrough =
  (viewOf: ViewOf): CompareContents =>
  async (rows) => {
    const opener = OPENERS[rows[0]?.table ?? ''];
    if (opener === undefined) return rows.map(() => undefined);
    try {
      const inUse = await opener(
        viewOf,
        rows.map(({ key, inUse: texts }) => ({ key, texts })),
      );
      const made = await opener(
        viewOf,
        rows.map(({ key, made: texts }) => ({ key, texts })),
      );
      return rows.map((_, at) => differing(inUse[at]!, made[at]!));
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      // A text was sealed for another place or truncated, or its blob is missing: opening each row alone shows which one.
      if (rows.length === 1) return [Object.keys(rows[0]!.inUse)];
      const each: (readonly string[] | undefined)[] = [];
      for (const row of rows) each.push(...(await contentsThrough(viewOf)([row])));
      return each;
    }
  };

function differing(inUse: Texts, made: Texts): readonly string[] | undefined {
  const columns = Object.keys(made).filter((column) => inUse[column] !== made[column]);
  const isOpen = columns.every((column) => !isClosedText(inUse[column]) && !isClosedText(made[column]));
  return isOpen ? columns : undefined;
}

const isClosedText = (text: string | null | undefined): boolean =>
  typeof text === 'string' && (textSealedWith(text) ?? blobReferenceOf(text)) !== undefined;
