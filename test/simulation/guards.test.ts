/** Each guard matters: a pinned seed fails when the guard is taken out of the source, and passes with it. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { simulate } from '@tidemark/testkit/simulation';
import { describe, expect, it } from 'vitest';
import { GUARDS } from './guards.ts';

const folder = fileURLToPath(new URL('./', import.meta.url));

/** The simulation as a program of its own, with a guard taken out. Rejects when the program itself fails. */
async function withoutGuard(
  name: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly said: string }> {
  const program = ['--import', `${folder}without-guard.ts`, `${folder}main.ts`, '--without', name];
  return promisify(execFile)(process.execPath, [...program, ...args]).then(
    ({ stderr }) => ({ code: 0, said: stderr }),
    (error: { readonly code: number; readonly stderr: string }) => ({ code: error.code, said: error.stderr }),
  );
}

describe.concurrent('a guard', () => {
  it.for(Object.entries(GUARDS))('fails without %s', async ([name, { seed }], { expect }) => {
    const { said } = await withoutGuard(name, ['--seeds', '1', '--from', String(seed), '--json']);
    const search = `node --import ./test/simulation/without-guard.ts test/simulation/main.ts --without ${name} --seeds 200`;
    expect(said, `pin another seed in guards.ts, which this finds: ${search}`).toMatch(
      new RegExp(`^seed ${seed} fails: `, 'm'),
    );
  });
});

describe('its seed', () => {
  it.for(Object.entries(GUARDS))('passes with %s', async ([, { seed, faults, workloads, archives }]) => {
    expect((await simulate({ seed, faults, workloads, archives })).violations).toEqual([]);
  });
});

it('a guard that is not where the list says stops the run', async () => {
  expect((await withoutGuard('nothing', [])).said).toMatch(/'nothing' is no guard/);
});
