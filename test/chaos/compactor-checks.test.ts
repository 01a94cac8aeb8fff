/** What judges the run that kills compactors, on histories that it must call bad; each beside the sound one that it must not. */

import { describe, expect, it } from 'vitest';
import type { Streams } from './checks.ts';
import { checkTiers, doubledAccepted, type Evidence, restoredOtherwise, type Stretch } from './compactor-checks.ts';
import { StepCounts, stepLine } from './compactor-steps.ts';

const stretch = (start: number, digests: string): Stretch => ({ start, digests: [...digests] });
const served = (digests: string, from = 0) => [...digests].map((digest, index) => ({ offset: from + index, digest }));

/** Six records, of which four are archived and three are still in the log. */
const sound: Evidence = {
  witnessed: [stretch(0, 'abcdef')],
  log: [stretch(3, 'def')],
  segments: [stretch(0, 'abcd')],
  served: [served('abcdef')],
};
const counts = (evidence: Partial<Evidence>) => {
  const { lost_events, doubled_events, changed_events } = checkTiers({ ...sound, ...evidence });
  return { lost: lost_events, doubled: doubled_events, changed: changed_events };
};

describe('the judge', () => {
  it('finds nothing in a sound history, whatever the tiers have twice', () => {
    expect(counts({})).toEqual({ lost: [], doubled: [], changed: [] });
    expect(counts({ segments: [stretch(0, 'abcdef')] })).toEqual({ lost: [], doubled: [], changed: [] });
    expect(counts({ log: [stretch(6, '')], segments: [stretch(0, 'abcdef')] })).toMatchObject({ lost: [] });
  });

  it('finds what was trimmed and is in no segment', () => {
    expect(counts({ segments: [stretch(0, 'ab')] }).lost).toEqual(['0/2 is in no tier']);
    expect(counts({ log: [stretch(6, '')] }).lost).toHaveLength(2);
    expect(counts({ log: [], segments: [] }).lost).toHaveLength(6);
  });

  it('finds what the log lost at its end', () => {
    expect(counts({ log: [stretch(3, 'de')], served: [served('abcde')] }).lost).toEqual(['0/5 is in no tier']);
  });

  it('finds what is stored and was not given', () => {
    const skips = { served: [[...served('abc'), ...served('ef', 4)]] };
    expect(counts(skips)).toEqual({ lost: ['0/3 is stored, and was not given'], doubled: [], changed: [] });
    expect(counts({ served: [] }).lost).toHaveLength(6);
  });

  it('finds what was given twice, and what nobody ever acknowledged', () => {
    const twice = { served: [[...served('abcd'), ...served('def', 3)]] };
    expect(counts(twice)).toEqual({ lost: [], doubled: ['0/3 was given twice'], changed: [] });
    expect(counts({ served: [served('abcdefg')] }).doubled).toEqual(['0/6 was given, and never acknowledged']);
  });

  it('finds what has other bytes, in each place', () => {
    expect(counts({ log: [stretch(3, 'dxf')] }).changed).toEqual(['0/4 has other bytes in log']);
    expect(counts({ segments: [stretch(0, 'axcd')] }).changed).toEqual(['0/1 has other bytes in segments']);
    expect(counts({ served: [served('abcdex')] }).changed).toEqual(['0/5 has other bytes as it was given']);
    // Two that changed places are two changes.
    expect(counts({ served: [served('bacdef')] }).changed).toHaveLength(2);
  });

  it('tells partitions apart', () => {
    const second = { witnessed: [stretch(0, 'ab'), stretch(0, 'cd')], log: [stretch(0, 'ab'), stretch(1, 'd')] };
    const both = { ...second, segments: [], served: [served('ab'), served('cd')] };
    expect(checkTiers(both).lost_events).toEqual(['1/0 is in no tier']);
  });
});

it('events that count twice in a workflow’s history are found', () => {
  const event = (id: string, offset: number) => ({ envelope: { id, type: 'SignalReceived' }, payload: null, offset });
  const streams = (...events: ReturnType<typeof event>[]) => new Map([['w', events]]) as unknown as Streams;
  expect(doubledAccepted(streams(event('a', 0), event('b', 1)))).toEqual([]);
  expect(doubledAccepted(streams(event('a', 0), event('b', 1), event('a', 2)))).toEqual([
    'w: SignalReceived a counts again at 2',
  ]);
});

it('rows that were put back otherwise are found', () => {
  const fresh = new Map([['w', { events: [{ a: 1 }], tasks: [] }]]);
  expect(restoredOtherwise(new Map([['w', { events: [{ a: 1 }], tasks: [] }]]), fresh)).toEqual([]);
  expect(restoredOtherwise(new Map([['w', { events: [{ a: 2 }], tasks: [] }]]), fresh)).toEqual([
    "w: its events differ from a fresh fold's",
  ]);
  expect(restoredOtherwise(new Map([['w', { events: [{ a: 1 }] }]]), fresh)).toHaveLength(1);
  expect(restoredOtherwise(new Map([['other', {}]]), fresh)).toEqual(['other is unknown to a fresh fold']);
});

it('where a compactor was killed is the step that it told last', () => {
  const steps = new StepCounts();
  const hear = (place: string, line: string) => steps.hear(place, line.trimEnd());
  hear('one', stepLine('object'));
  hear('two', stepLine('trim'));
  hear('one', stepLine('read-back'));
  hear('one', '{"level":"warn","message":"step trim"}');
  steps.ended('one');
  steps.ended('one');
  hear('two', stepLine('done', 12));
  steps.ended('two');
  expect(Object.fromEntries(steps.killed)).toEqual({ 'read-back': 1, starting: 1, next: 1 });
  expect(steps).toMatchObject({ segmentCount: 1, eventCount: 12 });
});

it('a kill waits for its step, for the end of the process, or for a time', async () => {
  const steps = new StepCounts();
  const hearStep = (step: string) => steps.hear('one', stepLine(step).trimEnd());
  let isMet = false;
  const second = steps.until('one', 'trim', 2, 60_000).then(() => {
    isMet = true;
  });
  for (const step of ['trim', 'drop']) hearStep(step);
  await Promise.resolve();
  expect(isMet).toBe(false);
  hearStep('trim');
  await second;
  const any = steps.until('one', undefined, 2, 60_000);
  for (const step of ['look', 'read']) hearStep(step);
  await any;
  const gone = steps.until('one', 'trim', 1, 60_000);
  steps.ended('one');
  await gone;
  await steps.until('one', 'trim', 1, 0);
});
