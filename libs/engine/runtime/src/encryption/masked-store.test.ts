/** Rows as people see them: secret fields are masked, in columns and in payloads from the log. */

import { type Sequence, workflowId } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { maskedStore } from './secrets.ts';

const W = workflowId('w');
const SEALED = `secret:1:${'p'.repeat(22)}:01890a5d-ac96-774b-bcce-b302099a8057:${'A'.repeat(60)}`;
const SAID = JSON.stringify({ input: { card: SEALED, cents: 700 } });
const SHOWN = { input: { card: '[secret]', cents: 700 } };
const row = { workflow: W, payload: SAID };
const store = {
  loadStreams: async () => [{ workflow: W, state: '{}', tasks: [], checkpoints: [row], effects: [row], causes: [row] }],
  checkpoints: async () => [row],
  effects: async () => [{ ...row, request: SAID }],
  effectPage: async () => [{ ...row, request: null }],
  events: async () => [row],
  workflow: async () => ({ ...row, result: SAID }),
} as unknown as ProjectionStore;

it('masks secret fields of every read that brings what records say', async () => {
  const shown = maskedStore(store);
  const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
  const [snapshot] = await shown.loadStreams([W]);
  for (const each of [snapshot!.checkpoints, snapshot!.effects, snapshot!.causes]) {
    expect(each.map(({ payload }) => parsed(payload))).toEqual([SHOWN]);
  }
  const [checkpoint] = await shown.checkpoints(W, { from: 0 as Sequence, limit: 1 });
  const [event] = await shown.events(W, 1);
  const [effect] = await shown.effects(W, {} as never);
  const [paged] = await shown.effectPage(W, {} as never);
  expect([checkpoint, event, effect, paged].map((each) => parsed(each!.payload))).toEqual([SHOWN, SHOWN, SHOWN, SHOWN]);
  expect([effect!.request, paged!.request].map(parsed)).toEqual([SHOWN, null]);
  expect(parsed((await shown.workflow(W))!.result)).toEqual(SHOWN);
});
