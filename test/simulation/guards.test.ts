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
  const range = ['--seeds', String(SEEDS_MAX), '--from', String(GUARDS[name]!.from ?? 1)];
  const run = promisify(execFile)(process.execPath, [...args, ...range, '--json']);
  const told = await run.then(
    ({ stderr }) => stderr,
    (error: { readonly stderr: string }) => error.stderr,
  );
  const seed = /^seed (\d+) fails/m.exec(told)?.[1];
  if (seed === undefined) throw new Error(`no seed of ${SEEDS_MAX} fails without ${name}: ${told}`);
  return { seed: Number(seed), told };
}

/** Processes at once; the controls run one after the other, in this one. */
const PROCESS_COUNT = 2;
const found = new Map<string, Promise<Awaited<ReturnType<typeof seedWithout>>>>();

function seedFound(name: string): NonNullable<ReturnType<typeof found.get>> {
  const names = Object.keys(GUARDS);
  // Two are ahead at most: the next begins once the one before the last has ended.
  for (const [at, each] of names.slice(0, names.indexOf(name) + PROCESS_COUNT).entries()) {
    if (found.has(each)) continue;
    const begin = () => seedWithout(each);
    found.set(each, found.get(names[at - PROCESS_COUNT] ?? '')?.then(begin, begin) ?? begin());
  }
  // Said where it is asked for.
  for (const each of found.values()) each.catch(() => {});
  return found.get(name)!;
}

describe('a seed fails without', () => {
  it.each(Object.keys(GUARDS))('%s', { timeout: TIMEOUT_MS }, async (name) => {
    const { seed, told } = await seedFound(name);
    expect(told).not.toContain('the simulation failed');
    const { faults, workloads, archives } = GUARDS[name]!;
    expect((await simulate({ seed, faults, workloads, archives })).violations).toEqual([]);
  });
});

it('a guard that is not where the list says stops the run', async () => {
  const args = ['--import', `${folder}without-guard.ts`, `${folder}main.ts`, '--without', 'nothing'];
  await expect(promisify(execFile)(process.execPath, args)).rejects.toThrow(/'nothing' is no guard/);
});
