/** Each guard matters: taken out of the source, some seed fails that passes with it. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { simulate } from '@tidemark/testkit/simulation';
import { describe, expect, it } from 'vitest';
import { GUARDS } from './guards.ts';

const SEEDS_MAX = 200;
const TIMEOUT_MS = 300_000;
const folder = fileURLToPath(new URL('./', import.meta.url));

/** The first seed that fails without the guard. */
async function seedWithout(name: string): Promise<{ readonly seed: number; readonly told: string }> {
  const args = ['--import', `${folder}without-guard.ts`, `${folder}main.ts`, '--without', name];
  const run = promisify(execFile)(process.execPath, [...args, '--seeds', String(SEEDS_MAX), '--json']);
  const told = await run.then(
    ({ stderr }) => stderr,
    (error: { readonly stderr: string }) => error.stderr,
  );
  const seed = /^seed (\d+) fails/m.exec(told)?.[1];
  if (seed === undefined) throw new Error(`no seed of ${SEEDS_MAX} fails without ${name}: ${told}`);
  return { seed: Number(seed), told };
}

// Two at once, each in a process of its own.
describe.concurrent('a seed fails without', () => {
  it.each(Object.keys(GUARDS))('%s', { timeout: TIMEOUT_MS }, async (name) => {
    const { seed, told } = await seedWithout(name);
    expect(told).not.toContain('the simulation failed');
    const { faults, workloads } = GUARDS[name]!;
    expect((await simulate({ seed, faults, workloads })).violations).toEqual([]);
  });
});

it('a guard that is not where the list says stops the run', async () => {
  const args = ['--import', `${folder}without-guard.ts`, `${folder}main.ts`, '--without', 'nothing'];
  await expect(promisify(execFile)(process.execPath, args)).rejects.toThrow(/'nothing' is no guard/);
});
