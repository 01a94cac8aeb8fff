/** Owns the tests of the fast path through a header: it gives exactly what the schemas give, and accepts nothing that they refuse. */

import { ENVELOPE_VERSION, type Envelope, type EventType } from '@tidemark/core';
import { DEFAULT_CONTROLS } from '@tidemark/testkit/naive/events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainEnvelope } from './plain-header.ts';
import { checkedHeader } from './record.ts';
import { controls } from './schema.ts';

const DIGEST = 'a'.repeat(64);
const SPEND = { tokens: 1, costMicros: 2.5 };
const TASKS = [
  { step: 'a', after: 'all', when: [] },
  { step: 'b', after: ['0.1', '12.0'], when: [] },
];
const EFFECT = { task: '3.0', key: 'k', operation: 'pay', kind: 'idempotent', requestDigest: DIGEST };

const CONTROLS: Readonly<Record<string, object>> = {
  CheckpointCommitted: {
    ...{ checkpoint: 'c', sequence: 3, parent: 'p', task: '2.0', step: 's', stepVersion: 1, inputDigest: DIGEST },
    ...{ tasks: TASKS, belief: 'delta', tokens: 1.5, costMicros: 0, lastAction: '', supersedes: 2, hasContext: true },
  },
  EffectIntended: {
    ...EFFECT,
    ...{ timeoutMs: 5, model: { bundle: DIGEST, reserved: SPEND }, question: DIGEST, hasContext: true },
  },
  EffectResolved: { ...EFFECT, outcome: 'done', responseDigest: DIGEST, spent: SPEND, hasContext: true },
  WorkflowOpened: {
    ...{ definition: 'd', version: 1, rules: 1, partition: 0, placement: 'exclusive', inputDigest: DIGEST },
    ...{ tasks: TASKS, pinned: true, shadow: false, compensates: null, session: 's', user: 'u' },
    ...{ tags: ['gold', 'eu'], hasContext: true },
  },
  LeaseClaimed: {},
  LeaseReleased: { reason: 'drain' },
  CheckpointReserved: { checkpoint: 'c', task: '2.0' },
  TimerFired: { timer: 'retry:2.0' },
  PartitionFenced: { partition: 3 },
  WorkflowCompleted: { outputDigest: DIGEST },
};

const headerOf = (type: string): object => ({
  ...{ v: ENVELOPE_VERSION, id: 'e', tenant: 't', workflow: 'w', generation: 1, lamport: 0, epoch: 0, holder: '' },
  ...{ ordinal: 0, atMs: 1.5, type, control: CONTROLS[type] ?? DEFAULT_CONTROLS[type as EventType] },
  payload: 'json',
});

/** Compares the order of members too: rows hold controls as text. */
function sameAsSchemas(header: unknown): boolean {
  const plain = plainEnvelope(header);
  if (plain === undefined) return false;
  const checked = checkedHeader(header);
  expect(checked.kind === 'event' ? JSON.stringify(checked.envelope) : checked).toBe(JSON.stringify(plain));
  return true;
}

/** Replacements for a member. */
const ODD = fc.constantFrom(
  ...[null, true, false, -1, 0, 1.5, 2 ** 53, Number.POSITIVE_INFINITY, '', 'all', 'json', 'none', 'x'.repeat(513)],
  ...[
    'x'.repeat(512),
    DIGEST,
    `${DIGEST}\n`,
    DIGEST.toUpperCase(),
    '0.1',
    '01.1',
    '1.9999999',
    '1.1048575',
    '1.1048576',
  ],
  ...[[], {}, [null], ['0.0'], ['x'], [{}], SPEND, TASKS, [{ ...TASKS[0], when: [{ kind: 'signal', name: 'n' }] }]],
);

/** Every place of a value, as a path. */
function placesIn(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, member]) => placesIn(member, [...path, key]))];
}

/** The value with the part at the path replaced; undefined: removed. */
function changed(value: unknown, [key, ...rest]: readonly string[], to: unknown): unknown {
  if (key === undefined) return to;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  const member = rest.length === 0 ? to : changed(copy[key], rest, to);
  if (member === undefined && !Array.isArray(copy)) delete copy[key];
  else copy[key] = member ?? null;
  return copy;
}

describe('a header that is', () => {
  it.each(Object.keys(CONTROLS))('%s goes the short way, and comes out as the schemas have it', (type) => {
    expect(sameAsSchemas(headerOf(type))).toBe(true);
  });

  it.each(Object.keys(CONTROLS))('%s with members changed, taken away or added is never taken for another', (type) => {
    const header = headerOf(type);
    const places = placesIn(header);
    const change = fc.record({ at: fc.nat(places.length - 1), to: fc.oneof(ODD, fc.constant(undefined)) });
    let takenCount = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), fc.boolean(), (changes, isMore) => {
        let odd: unknown = header;
        for (const { at, to } of changes) {
          const place = places[at]!;
          if (place.length > 0 && placesIn(odd).some((each) => each.join() === place.join()))
            odd = changed(odd, place, to);
        }
        if (isMore)
          odd = { ...(odd as object), more: 1, control: { ...(odd as { control: object }).control, more: 1 } };
        if (sameAsSchemas(odd)) takenCount++;
      }),
      { numRuns: 3_000 },
    );
    expect(takenCount).toBeGreaterThan(0);
  });

  it.each(Object.keys(CONTROLS))(
    '%s with a member that the short way doesn’t know goes the long way, and loses nothing',
    (type) => {
      const { shape } = controls[type as EventType] as unknown as { readonly shape: Readonly<Record<string, unknown>> };
      const known = CONTROLS[type]!;
      for (const name of [...Object.keys(shape).filter((each) => !(each in known)), 'more']) {
        for (const value of [['x'], 'x', 5, true, {}]) {
          expect(plainEnvelope({ ...headerOf(type), control: { ...known, [name]: value } }), name).toSatisfy(
            (plain: Envelope | undefined) => plain === undefined || name in plain.control,
          );
        }
      }
    },
  );

  it('of any other type, version or payload is left to the schemas', () => {
    for (const type of Object.keys(DEFAULT_CONTROLS)) {
      if (!(type in CONTROLS)) expect(plainEnvelope(headerOf(type))).toBeUndefined();
    }
    for (const odd of [{ v: 2 }, { payload: 'sealed' }, { payload: 'blob' }, { type: 'Another' }, { control: [] }]) {
      expect(plainEnvelope({ ...headerOf('LeaseClaimed'), ...odd })).toBeUndefined();
    }
    expect([null, 'text', [], undefined].map(plainEnvelope)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
