/** The places of pieces: whoever reads them can tell what is missing, what came before, and what a lost attempt has said. */

import type { EffectKey, Epoch, TaskId } from '@tidemark/core';
import type { Kept } from '@tidemark/ports';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, expect, it } from 'vitest';
import { type CallDelta, CallPieces, PIECE_PERIOD_MS } from './model-chunk.ts';

const [A, B] = ['a' as EffectKey, 'b' as EffectKey];
const TASK = '0.0' as TaskId;
let sent: (CallDelta & { readonly kept: Kept })[];
let pieces: CallPieces;
let clock: SimulatedClock;
let releasedCount: number;
beforeEach(() => {
  sent = [];
  releasedCount = 0;
  clock = new SimulatedClock();
  pieces = new CallPieces(3 as Epoch, clock, {
    send: (_task, delta, kept) => sent.push({ ...delta, kept }),
    release: () => void releasedCount++,
  });
});

it('an attempt begins with a reset, and each piece says which it is', () => {
  pieces.begin(TASK, A, 7).onDelta({ kind: 'text', text: 'Hi' });
  pieces.begin(TASK, A, 9);
  expect(sent.map(({ kept: _, ...delta }) => delta)).toEqual([
    { kind: 'reset', call: A, attempt: 7, index: 0, epoch: 3, number: 1 },
    { kind: 'text', text: 'Hi', call: A, attempt: 7, index: 1, epoch: 3, number: 2 },
    { kind: 'reset', call: A, attempt: 9, index: 0, epoch: 3, number: 3 },
  ]);
});

it('what is kept of before goes when nobody is in the middle of an answer, and not else', () => {
  const [first, second] = [pieces.begin(TASK, A, 7), pieces.begin(TASK, B, 8)];
  first.end();
  first.end();
  pieces.begin(TASK, A, 9).end();
  expect(releasedCount).toBe(0);
  second.end();
  expect(releasedCount).toBe(1);
  pieces.begin(TASK, B, 10);
  expect(sent.map(({ kept }) => kept)).toEqual(
    [true, false, false, true].map((replaces, at) => ({ epoch: 3, number: at + 1, replaces })),
  );
});

it('a call that has ended says nothing more, and a large piece comes in several', async () => {
  const stream = pieces.begin(TASK, A, 7);
  stream.onDelta({ kind: 'text', text: 'x'.repeat(40_000) });
  stream.onDelta({ kind: 'tool-call', call: { id: '1', name: 'huge', input: 'x'.repeat(40_000) } });
  stream.end();
  stream.onDelta({ kind: 'text', text: 'ghost' });
  await clock.run(PIECE_PERIOD_MS);
  expect(sent.map(({ text }) => text?.length)).toEqual([undefined, 16_384, 16_384, 7_232]);
  expect(sent.at(-1)!.index).toBe(3);
});

it('words that come in short order come together, in time, and before what is of another kind', async () => {
  const stream = pieces.begin(TASK, A, 7);
  const say = (kind: 'text' | 'reasoning', text: string): void => stream.onDelta({ kind, text });
  const said = (): readonly (string | undefined)[] => sent.slice(1).map(({ text }) => text);
  for (const text of ['a', 'b', 'c']) say('text', text);
  expect(said()).toEqual(['a']);
  await clock.run(PIECE_PERIOD_MS);
  expect(said()).toEqual(['a', 'bc']);
  say('reasoning', 'd');
  say('text', 'e');
  expect(said()).toEqual(['a', 'bc', 'd']);
  say('text', 'f');
  stream.end();
  expect(said()).toEqual(['a', 'bc', 'd', 'ef']);
});
