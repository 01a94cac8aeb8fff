/** Each guard matters: a pinned seed fails when the guard is taken out of the source, and passes with it. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { simulate } from '@tidemark/testkit/simulation';
import { describe, expect, it } from 'vitest';
import { GUARDS } from './guards.ts';

const folder = fileURLToPath(new URL('./', import.meta.url));

/** How a violation begins that shows a crash of the simulation, and nothing of a guard: an edit that is no sound source. */
const CRASH = /^(the simulation failed|unhandled rejection)/;

/** What the simulation prints as a program of its own, with a guard taken out. Rejects when it ends without a verdict. */
async function withoutGuard(name: string, args: readonly string[]): Promise<string> {
  const program = ['--import', `${folder}without-guard.ts`, `${folder}main.ts`, '--without', name];
  const run = promisify(execFile)(process.execPath, [...program, ...args]);
  return run.then(
    ({ stderr }) => stderr,
    (error: { readonly code: unknown; readonly stderr: string }) => {
      // A seed that fails ends it with 1, as does a throw; the caller looks for the seed.
      if (error.code === 1) return error.stderr;
      throw error;
    },
  );
}

describe.concurrent('a guard', () => {
  it.for(Object.entries(GUARDS))('fails without %s', async ([name, { seed }], { expect }) => {
    const printed = await withoutGuard(name, ['--seeds', '1', '--from', String(seed), '--json']);
    const search = `node --import ./test/simulation/without-guard.ts test/simulation/main.ts --without ${name} --seeds 200`;
    const violation = new RegExp(`^seed ${seed} fails: (.*)`, 'm').exec(printed)?.[1];
    expect(violation, `pin another seed in guards.ts, which this finds: ${search}\n${printed}`).toBeDefined();
    expect(violation, `the edit of ${name} is no sound source`).not.toMatch(CRASH);
  });
});

describe('its seed', () => {
  it.for(Object.entries(GUARDS))('passes with %s', async ([, { seed, faults, workloads, archives }]) => {
    const { violations } = await simulate({ seed, faults, workloads, archives });
    // A mutation that this test should catch has to be found by a judge: a crash would show nothing (test/mutations).
    const crash = violations.find((violation) => CRASH.test(violation));
    if (crash !== undefined) throw new Error(crash);
    expect(violations).toEqual([]);
  });
});

it('a guard that is not where the list says stops the run', async () => {
  expect(await withoutGuard('nothing', [])).toMatch(/'nothing' is no guard/);
});
