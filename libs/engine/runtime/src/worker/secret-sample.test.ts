/** The search after the commit: what it finds, how much it takes, and that it says what it left out. */

import { encodePayload } from '@tidemark/codec';
import type { Envelope } from '@tidemark/core';
import { describe, expect, it, vi } from 'vitest';
import type { StoredSecret } from '../kernel/index.ts';
import { SecretSample } from './secret-sample.ts';

const TOKEN = `gh${'p_'}${'q7Zr2mX9wK4v'.repeat(3)}`;
const EVENT = { type: 'CheckpointCommitted', control: { step: 'draft' } } as Envelope<'CheckpointCommitted'>;
const payloadOf = (content: object): Uint8Array =>
  encodePayload('CheckpointCommitted', { output: null, tasks: [], ...content });

/** A clock whose sleeps end when told, and on which each look at it takes `costMs`. */
function sampled(costMs = 0) {
  let nowMs = 0;
  const rests: number[] = [];
  let wake: () => void = () => {};
  const clock = {
    nowMs: () => nowMs,
    monotonicMs: () => (nowMs += costMs),
    sleep: (ms: number) => {
      rests.push(ms);
      return new Promise<void>((resolve) => {
        wake = resolve;
      });
    },
  };
  const stored: StoredSecret[] = [];
  const counts = new Map<string, number>();
  const count = vi.fn((name: string, value: number, labels?: Readonly<Record<string, string>>) => {
    const key = `${name} ${Object.values(labels ?? {}).join(' ')}`;
    counts.set(key, (counts.get(key) ?? 0) + value);
  });
  const onError = vi.fn();
  const onStored = vi.fn((each: StoredSecret) => void stored.push(each));
  const secretPolicy = { onSecret: 'report' as const, onStored };
  const sample = new SecretSample({ clock, telemetry: { count }, secretPolicy } as never, onError);
  const offer = (content: object): void => sample.offer('refund', EVENT, payloadOf(content));
  const woken = async (): Promise<void> => {
    wake();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const seen = () => ['searched', 'skipped'].map((outcome) => counts.get(`secret_search_events_total ${outcome}`) ?? 0);
  return { sample, offer, woken, stored, onStored, onError, seen, count, rests };
}

describe('a committed event', () => {
  it('is searched after a rest, and its finds are told by place and kind', async () => {
    const { offer, woken, stored, count } = sampled();
    offer({ output: { text: `use ${TOKEN}` }, delta: { o: { login: { o: { apiKey: { v: 'live1234' } } } } } });
    expect(count).not.toHaveBeenCalled();
    await woken();
    const at = { definition: 'refund' };
    expect(stored).toEqual([
      { ...at, where: 'output', field: 'output of step draft', place: '/text', kind: 'github-token' },
      { ...at, where: 'belief', field: 'belief of step draft', place: '/login/apiKey', kind: 'password' },
    ]);
    expect(JSON.stringify(count.mock.calls)).not.toContain(TOKEN);
  });

  it('is left when its listener fails, and the next is searched', async () => {
    const { offer, woken, stored, onStored, onError } = sampled();
    onStored.mockImplementationOnce(() => {
      throw new Error('no');
    });
    for (const output of [TOKEN, TOKEN]) offer({ output });
    await woken();
    expect([onError.mock.calls.length, stored.length]).toEqual([1, 1]);
  });

  it('that waits when the worker stops is searched then, and none after', () => {
    const { sample, offer, stored, seen } = sampled();
    offer({ output: TOKEN });
    sample.close();
    offer({ output: TOKEN });
    expect([stored.length, ...seen()]).toEqual([1, 1, 0]);
  });
});

it('more than may wait is skipped and counted, until all that waits is searched', async () => {
  const { offer, woken, seen } = sampled();
  for (let at = 0; at < 300; at += 1) offer({ output: at });
  await woken();
  expect(seen()).toEqual([256, 44]);
  offer({ output: 1 });
  await woken();
  expect(seen()).toEqual([257, 44]);
});

it('a large payload is skipped, and a megabyte is all that waits', async () => {
  const { offer, woken, seen } = sampled();
  offer({ output: 'x'.repeat(300_000) });
  for (let at = 0; at < 9; at += 1) offer({ output: 'x'.repeat(200_000) });
  await woken();
  expect(seen()).toEqual([6, 4]);
});

it('a search rests a hundred times as long as it took', async () => {
  const { offer, woken, seen, rests } = sampled(3);
  for (let at = 0; at < 3; at += 1) offer({ output: at });
  await woken();
  expect(seen()).toEqual([1, 0]);
  expect(rests).toEqual([100, 900]);
});
