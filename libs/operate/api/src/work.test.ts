/** What is in hand is bounded, also where nobody waits for it any more, and what is too much has not begun. */

import type { TenantId } from '@tidemark/core';
import { beforeEach, expect, it } from 'vitest';
import { reportedOf } from './problem.ts';
import { WORK_LEFT_MAX_COUNT, WORK_MAX_COUNT, Work } from './work.ts';

const ACME = 'acme' as TenantId;
const GLOBEX = 'globex' as TenantId;

let work: Work;
let begunCount: number;
/** Ends what has begun, one way or the other. */
let ending: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[];
beforeEach(() => {
  work = new Work();
  begunCount = 0;
  ending = [];
});

/** Work that continues until the test ends it; `leave`: its caller goes. */
function ask(whose: TenantId | null): { readonly outcome: Promise<unknown>; readonly leave: () => void } {
  const gone = new AbortController();
  const outcome = work
    .do(whose, gone.signal, () => {
      begunCount++;
      return new Promise<void>((resolve, reject) => ending.push({ resolve, reject }));
    })
    .then(
      () => 'done',
      (error: unknown) => error,
    );
  return { outcome, leave: () => gone.abort('gone') };
}

async function leaveMany(whose: TenantId | null): Promise<void> {
  const asked = Array.from({ length: WORK_LEFT_MAX_COUNT }, () => ask(whose));
  for (const { leave } of asked) leave();
  expect(new Set(await Promise.all(asked.map(({ outcome }) => outcome)))).toEqual(new Set(['gone']));
}

const refusal = async (whose: TenantId | null) => {
  const before = begunCount;
  const reported = reportedOf(await ask(whose).outcome);
  expect(begunCount).toBe(before);
  return [reported.problem.status, reported.problem.code, reported.retryAfterS];
};
const REFUSED = [429, 'requests-too-many', 1];

it('is refused to whose tenant too much is tried for nobody, until that has ended, and to no other', async () => {
  await leaveMany(ACME);
  expect(await refusal(ACME)).toEqual(REFUSED);
  const other = ask(GLOBEX);
  const platform = ask(null);
  expect(begunCount).toBe(WORK_LEFT_MAX_COUNT + 2);
  // However it ends.
  ending[0]!.reject(new Error('at last'));
  ending[1]!.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  const [one, another] = [ask(ACME), ask(ACME)];
  expect(begunCount).toBe(WORK_LEFT_MAX_COUNT + 4);
  for (const { resolve } of ending) resolve();
  const asked = [other, platform, one, another].map(({ outcome }) => outcome);
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['done']));
});

it('is not refused to whose callers all wait (control)', async () => {
  const asked = Array.from({ length: WORK_LEFT_MAX_COUNT + 1 }, () => ask(ACME));
  expect(begunCount).toBe(WORK_LEFT_MAX_COUNT + 1);
  for (const { resolve } of ending) resolve();
  expect(new Set(await Promise.all(asked.map(({ outcome }) => outcome)))).toEqual(new Set(['done']));
});

it('leaves half of all to others, and all of it once it has ended', async () => {
  const asked = Array.from({ length: WORK_MAX_COUNT / 2 }, () => ask(ACME));
  expect(await refusal(ACME)).toEqual(REFUSED);
  asked.push(ask(GLOBEX));
  for (const { resolve } of ending) resolve();
  await Promise.all(asked.map(({ outcome }) => outcome));
  const again = ask(ACME);
  ending.at(-1)!.resolve();
  expect(await again.outcome).toBe('done');
});
