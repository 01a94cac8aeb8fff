/**
 * Workflows that are to continue as a new run, and marking those that did. Inputs: the id after which to begin, and a limit; ids. Locks:
 * the rows of those ids, which are closed and no longer change. Index: workflows_to_continue; primary key. Cost: follows the workflows that
 * have yet to continue, usually none.
 */

import type { WorkflowId } from '@tidemark/core';
import { textArray } from '../binary-array.ts';
import { type Row, type Statement, textAt } from '../sql-client.ts';

const toContinue = `
select workflow from workflows
where status = 'completed' and reason in ('continued', 'superseded') and not is_continued and workflow > $1 collate "C"
order by workflow limit $2`;

export const pendingContinuations = (after: WorkflowId | null, limit: number): Statement => ({
  name: 'pending-continuations',
  text: toContinue,
  values: [after ?? '', String(limit)],
});

export const continuingOf = (row: Row): WorkflowId => textAt(row, 0) as WorkflowId;

const begun = 'update workflows set is_continued = true where workflow = any($1::text[])';

export const continuationsBegun = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'continuations-begun',
  text: begun,
  values: [textArray(workflows)],
});
