/** What is overtaken on its way into a partition is told from what should never have been written. */

import { type Envelope, type Generation, nextEra } from '@tidemark/core';
import { expect, it } from 'vitest';
import { Openings } from './rejections.ts';

const event = (type: string, workflow = 'w', generation = 1): Envelope =>
  ({ type, workflow, generation }) as unknown as Envelope;

it('is what comes behind the end of its workflow, and nothing of one that was never opened', () => {
  const openings = new Openings();
  openings.saw(event('WorkflowOpened'));
  for (const reason of ['closed', 'wrong-generation'] as const) {
    expect(openings.isOvertaken(reason, event('SignalReceived'))).toBe(true);
    expect(openings.isOvertaken(reason, event('SignalReceived', 'other'))).toBe(false);
  }
  expect(openings.isOvertaken('malformed', event('SignalReceived'))).toBe(false);
});

it('is an opening that was under way when its partition was fenced, and none that was placed since', () => {
  const openings = new Openings();
  openings.saw(event('PartitionFenced', '~partition'));
  const first = nextEra(0 as Generation);
  const opening = (generation: number) => event('WorkflowOpened', 'w', generation);
  expect(openings.isOvertaken('wrong-generation', opening(first + 3))).toBe(false);
  openings.saw(event('WorkflowOpened', 'v', first + 1));
  openings.saw(event('PartitionFenced', '~partition'));
  expect(openings.isOvertaken('wrong-generation', opening(first + 3))).toBe(true);
  expect(openings.isOvertaken('wrong-generation', event('SignalReceived', 'w', first + 3))).toBe(false);
  expect(openings.isOvertaken('wrong-generation', opening(nextEra(first) + 3))).toBe(false);
});
