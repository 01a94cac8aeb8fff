/** The summary of a failing workflow never prevents its failure. */

import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { expect, it } from 'vitest';
import type { Draft } from '../lease/draft.ts';
import { FAILURE_SUMMARY_MAX_MS, failureSummary } from './summaries.ts';

const failed: Draft = {
  type: 'WorkflowFailed',
  control: { code: 'boom', task: null },
  payload: { error: { name: 'Error', code: 'boom', message: 'It broke.' } as never },
};

/** A workflow of a session; `read` stands for its rows. */
function dependencies(read: () => Promise<unknown>, user = 'ana') {
  const clock = new SimulatedClock();
  const missed: string[] = [];
  const speculative = { session: 's', user, workflow: 'w', head: { sequence: 0 }, frontier: { tasks: [] } };
  const given = {
    ports: { clock, telemetry: { count: (name: string) => void missed.push(name) } },
    stream: { speculative },
    reads: {},
    content: { input: 'Book it', context: { fragments: read, trace: async () => ({ recent: [], earlier: {} }) } },
  };
  return { given: given as never, clock, missed };
}

it('is made by rule', async () => {
  const { given, missed } = dependencies(async () => []);
  expect(await failureSummary(failed, given)).toMatchObject({ subject: 'user:ana', kind: 'summary', key: 's/w' });
  expect(missed).toEqual([]);
});

it('is left out, and counted, where rows are damaged or can not be had in time', async () => {
  const damaged = dependencies(() => Promise.reject(new Error('text-missing')));
  expect(await failureSummary(failed, damaged.given)).toBeUndefined();
  const nameless = dependencies(async () => [], 'u'.repeat(300));
  expect(await failureSummary(failed, nameless.given)).toBeUndefined();
  const away = dependencies(() => new Promise(() => {}));
  const summary = failureSummary(failed, away.given);
  await away.clock.run(FAILURE_SUMMARY_MAX_MS);
  expect(await summary).toBeUndefined();
  for (const { missed } of [damaged, nameless, away]) expect(missed).toEqual(['session_summaries_missing_total']);
});

it('is no business of an end that is no failure', async () => {
  const { given, missed } = dependencies(() => Promise.reject(new Error('not to be read')));
  const parked = { type: 'WorkflowParked', control: {}, payload: {} } as never;
  expect(await failureSummary(parked, given)).toBeUndefined();
  expect(missed).toEqual([]);
});
