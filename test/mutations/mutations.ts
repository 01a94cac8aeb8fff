/**
 * Owns the list of mutations: faults of the source that the tests of `npm test` find, each with the test file that does. They are
 * the measure of what may be left out of `npm test`: whoever makes it quicker keeps every one of them caught.
 */

import { GUARDS } from '../simulation/guards.ts';
import { ADAPTER_MUTATIONS } from './adapters.ts';
import { CORE_MUTATIONS } from './core.ts';
import { EDGE_MUTATIONS } from './edges.ts';
import type { Edit } from './mutated.ts';
import { RUNTIME_MUTATIONS } from './runtime.ts';

export interface Mutation {
  /** From the project's root. */
  readonly file: string;
  /** Each `from` stands in the file exactly once. */
  readonly edits: readonly Edit[];
  /** The test file, from the project's root, that fails with it. */
  readonly caughtBy: string;
  /** A part of the names of the tests that are run of it; none: all. */
  readonly test?: string;
  /** The promise that it breaks. */
  readonly breaks: string;
}

const guards = Object.entries(GUARDS).map(([name, { file, edits }]): [string, Mutation] => [
  `guard-${name}`,
  // Its seed is run as it stands: that the guard's text is missing from the list is no proof.
  {
    file,
    edits,
    caughtBy: 'test/simulation/guards.test.ts',
    test: `passes with ${name}$`,
    breaks: `guard ${name}`,
  },
]);

/** By name, the guards among them. */
export const allMutations = (): Readonly<Record<string, Mutation>> => ({
  ...Object.fromEntries(guards),
  ...CORE_MUTATIONS,
  ...RUNTIME_MUTATIONS,
  ...ADAPTER_MUTATIONS,
  ...EDGE_MUTATIONS,
});
