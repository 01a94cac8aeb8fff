/** Owns the list of mutations: those of each area, and the simulation's guards, each of which is one as well. */

import { GUARDS } from '../simulation/guards.ts';
import { ADAPTERS_MUTATIONS } from './adapters.ts';
import { AGENTS_MUTATIONS } from './agents.ts';
import { ARCHIVE_MUTATIONS } from './archive.ts';
import { AROUND_MUTATIONS } from './around.ts';
import { CALLS_MUTATIONS } from './calls.ts';
import { CRASH_TEST_MUTATIONS } from './crash-test.ts';
import { DISPATCH_MUTATIONS } from './dispatch.ts';
import { DOOR_MUTATIONS } from './doors.ts';
import { EDGE_MUTATIONS } from './edge.ts';
import { EFFECTS_MUTATIONS } from './effects.ts';
import { FOLD_MUTATIONS } from './fold.ts';
import { FUNCTION_ENDS_MUTATIONS } from './function-ends.ts';
import { FUNCTION_MUTATIONS } from './functions.ts';
import { LEASE_MUTATIONS } from './lease.ts';
import { type Mutation, type Mutations, merged } from './mutation.ts';
import { PROMPTS_MUTATIONS } from './prompts.ts';
import { ROWS_MUTATIONS } from './rows.ts';
import { SCHEMA_MUTATIONS } from './schemas.ts';
import { SEALING_MUTATIONS } from './sealing.ts';
import { STREAMS_MUTATIONS } from './streams.ts';

export const GUARDS_TEST = 'test/simulation/guards.test.ts';

/** What the simulation alone finds; its own test takes each out, and runs the seed that fails then. */
const GUARD_MUTATIONS: Mutations = Object.fromEntries(
  Object.entries(GUARDS).map(([name, { file, edits }]) => [
    name,
    {
      file,
      edits,
      caughtBy: GUARDS_TEST,
      test: `passes with ${name}`,
      breaks: 'A simulated fleet needs this guard.',
    },
  ]),
);

export const MUTATIONS: Mutations = merged(
  FOLD_MUTATIONS,
  LEASE_MUTATIONS,
  EFFECTS_MUTATIONS,
  CALLS_MUTATIONS,
  CRASH_TEST_MUTATIONS,
  ROWS_MUTATIONS,
  ADAPTERS_MUTATIONS,
  SCHEMA_MUTATIONS,
  SEALING_MUTATIONS,
  ARCHIVE_MUTATIONS,
  DISPATCH_MUTATIONS,
  EDGE_MUTATIONS,
  DOOR_MUTATIONS,
  AROUND_MUTATIONS,
  STREAMS_MUTATIONS,
  FUNCTION_MUTATIONS,
  FUNCTION_ENDS_MUTATIONS,
  PROMPTS_MUTATIONS,
  AGENTS_MUTATIONS,
  GUARD_MUTATIONS,
);

/** The package whose source it changes. */
export const areaOf = ({ file }: Mutation): string => /^libs\/(?:[a-z]+\/)?([a-z0-9-]+)\/src\//.exec(file)?.[1] ?? '';
