/**
 * Inserts what checkpoints and model calls add to a workflow's context. Fragments, texts, changes of working memory and sessions never
 * change. Inputs: one row each. Locks: none. Index: primary keys, sessions_key. Cost: 11 ms for 1,000 fragments with texts of 1 KB.
 */

import type { FragmentRow, ScopeRow, SessionRow, TextRow } from '@tidemark/ports';
import { bool, insertion, int4, int8, text } from '../insertion.ts';

/** Where the summary's range ends in its own workflow; one that ends in an earlier workflow covers none of its own. */
const coveredTo = ({ covers }: FragmentRow) => (covers?.to.run === 0 ? covers.to : undefined);

export const putFragments = insertion<FragmentRow>('put-fragments', 'fragments', {
  workflow: text((row) => row.workflow),
  sequence: int8((row) => row.sequence),
  index: int4((row) => row.index),
  type: text((row) => row.type),
  digest: text((row) => row.digest),
  call: text((row) => row.call),
  tool: text((row) => row.tool),
  covers: text((row) => (row.covers === null ? null : JSON.stringify(row.covers))),
  parts: text((row) => (row.parts === null ? null : JSON.stringify(row.parts))),
  covered_sequence: int8((row) => coveredTo(row)?.sequence ?? null),
  covered_index: int4((row) => coveredTo(row)?.index ?? null),
});

export const putTexts = insertion<TextRow>(
  'put-texts',
  'texts',
  { workflow: text((row) => row.workflow), digest: text((row) => row.digest), text: text((row) => row.text) },
  'on conflict (workflow, digest) do nothing',
);

export const putScopes = insertion<ScopeRow>('put-scopes', 'scopes', {
  workflow: text((row) => row.workflow),
  sequence: int8((row) => row.sequence),
  is_whole: bool((row) => row.isWhole),
  change: text((row) => row.change),
});

export const putSessions = insertion<SessionRow>(
  'put-sessions',
  'sessions',
  {
    tenant: text((row) => row.tenant),
    session: text((row) => row.session),
    workflow: text((row) => row.workflow),
    user_id: text((row) => row.user),
    lamport: int8((row) => row.lamport),
  },
  'on conflict (workflow) do nothing',
);
