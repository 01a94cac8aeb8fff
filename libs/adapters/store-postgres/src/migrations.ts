/**
 * Owns which migrations there are, their order, and what each means to other releases. Never edited once released: a change is a new migration.
 *
 * | phase | a release that doesn't know it | this release where it is missing | applied by |
 * | --- | --- | --- | --- |
 * | `expand` | works as before | adds it | the first process that starts, or `tidemark admin migrate` |
 * | `contract` | must not work here | works, as long as this list says `contract` | `tidemark admin migrate --contract` alone |
 * | `settled` | must not work here | can't work | the first process in an empty database; else `tidemark admin migrate --contract` |
 *
 * So what a change takes away is spread over three releases: one expands, and writes old and new; the next reads the new alone, and brings the
 * contraction; the one after that calls it settled. An expansion stands on no contraction that is still called that. See docs/upgrade.md.
 */

import * as projections from './migrations/0001-projections.ts';
import * as outcomes from './migrations/0002-outcomes.ts';
import * as incarnation from './migrations/0003-incarnation.ts';
import * as memories from './migrations/0004-memories.ts';
import * as context from './migrations/0005-context.ts';
import * as sessionPlaces from './migrations/0006-session-places.ts';
import * as spendHours from './migrations/0007-spend-hours.ts';
import * as tiers from './migrations/0008-tiers.ts';
import * as forks from './migrations/0009-forks.ts';
import * as blobs from './migrations/0010-blobs.ts';
import * as traces from './migrations/0011-traces.ts';
import * as search from './migrations/0012-search.ts';
import * as approvals from './migrations/0013-approvals.ts';
import * as schedules from './migrations/0014-schedules.ts';
import * as children from './migrations/0015-children.ts';
import * as continuations from './migrations/0016-continuations.ts';
import * as ownersKnow from './migrations/0017-owners-know.ts';
import * as parkedReasons from './migrations/0018-parked-reasons.ts';
import * as unsampledWords from './migrations/0019-unsampled-words.ts';
import * as contentInLog from './migrations/0020-content-in-log.ts';
import * as corrections from './migrations/0021-corrections.ts';

export type MigrationPhase = 'settled' | 'expand' | 'contract';

export interface Migration {
  /** `NNNN-what`, unique and rising. */
  readonly name: string;
  readonly sql: string;
  readonly phase: MigrationPhase;
}

/** It predates phases: a release refuses a database with such a migration that it doesn't know. */
const BEFORE_PHASES: readonly Omit<Migration, 'phase'>[] = [
  projections,
  outcomes,
  incarnation,
  memories,
  context,
  sessionPlaces,
  spendHours,
  tiers,
  forks,
  blobs,
  traces,
  search,
  approvals,
  schedules,
  children,
  continuations,
];

const phased = (phase: MigrationPhase, { name, sql }: Omit<Migration, 'phase'>): Migration => ({ name, sql, phase });

export const MIGRATIONS: readonly Migration[] = [
  ...BEFORE_PHASES.map((migration) => phased('settled', migration)),
  phased('expand', ownersKnow),
  phased('expand', parkedReasons),
  phased('expand', unsampledWords),
  phased('settled', contentInLog),
  phased('expand', corrections),
];

/** The newest migration that this release knows. Names rise, so this one name says what a process knows. */
export const NEWEST_MIGRATION: string = MIGRATIONS.at(-1)!.name;
