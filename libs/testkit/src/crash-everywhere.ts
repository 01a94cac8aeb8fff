/**
 * Owns the test of a workflow at every boundary: it is run once without a crash, and then once for each place at which its worker can die.
 * Every run must end as the first one did, with effects called under as many keys.
 */

import { isDeepStrictEqual } from 'node:util';
import { TidemarkError } from '@tidemark/core';
import { type TestWorld, type TestWorldOptions, testWorld } from './test-world.ts';

/** Runs that ended otherwise, which an error shows. */
const SHOWN_COUNT = 5;

export interface CrashedEverywhere<Outcome> {
  readonly outcome: Outcome;
  /** Places at which a worker was killed. */
  readonly boundaries: number;
}

/**
 * `scenario` starts a workflow in the world, does what people and programs do meanwhile, and returns what counts, such as the run's result
 * and what an effect's stub has seen. It is called once for each boundary, each time in a world of its own, in which time passes fast.
 * Throws `TidemarkError` (`crash-changed`), which lists the boundaries with what came out there.
 */
export async function crashEverywhere<Outcome>(
  options: TestWorldOptions,
  scenario: (world: TestWorld) => Promise<Outcome>,
): Promise<CrashedEverywhere<Outcome>> {
  const first = await attempt(options, scenario);
  const problems: string[] = [];
  for (let boundary = 1; boundary <= first.boundaries; boundary++) {
    const { outcome, keys } = await attempt(options, scenario, boundary);
    if (!isDeepStrictEqual(outcome, first.outcome)) problems.push(`boundary ${boundary}: ${shown(outcome)}`);
    else if (keys !== first.keys) problems.push(`boundary ${boundary}: effects under ${keys} keys, not ${first.keys}`);
  }
  if (problems.length === 0) return { outcome: first.outcome.value as Outcome, boundaries: first.boundaries };
  const more = problems.length > SHOWN_COUNT ? `; and ${problems.length - SHOWN_COUNT} more` : '';
  throw new TidemarkError(
    'crash-changed',
    `A crash changed what comes out: ${shown(first.outcome)} without one; ${problems.slice(0, SHOWN_COUNT).join('; ')}${more}.`,
    { problems },
  );
}

type Ended = { readonly value: unknown } | { readonly error: string };

async function attempt(
  options: TestWorldOptions,
  scenario: (world: TestWorld) => Promise<unknown>,
  boundary?: number,
): Promise<{
  readonly outcome: Ended & { readonly value?: unknown };
  readonly boundaries: number;
  readonly keys: number;
}> {
  const world = await testWorld(options);
  try {
    if (boundary !== undefined) world.crash({ boundary });
    const outcome = await world.fastForward(scenario(world)).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
    );
    return { outcome, boundaries: world.boundaryCount, keys: world.calledKeys.size };
  } finally {
    await world.close();
  }
}

const shown = (outcome: Ended): string =>
  'error' in outcome ? `error ${outcome.error}` : (JSON.stringify(outcome.value) ?? 'nothing');
