/** What is overtaken on its way into a partition is told from what should never have been written. */

import type { Envelope } from '@tidemark/core';
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

it('is an opening behind a fence, and no other', () => {
  const openings = new Openings();
  expect(openings.isOvertaken('wrong-generation', event('WorkflowOpened'))).toBe(false);
  openings.saw(event('PartitionFenced', '~partition'));
  expect(openings.isOvertaken('wrong-generation', event('WorkflowOpened'))).toBe(true);
  expect(openings.isOvertaken('wrong-generation', event('SignalReceived'))).toBe(false);
});
