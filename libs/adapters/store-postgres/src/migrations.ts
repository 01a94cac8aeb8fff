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

import * as tables from './migrations/0001-tables.ts';
import * as roots from './migrations/0002-roots-and-failures.ts';
import * as spends from './migrations/0003-spends.ts';

export type MigrationPhase = 'settled' | 'expand' | 'contract';

export interface Migration {
  /** `NNNN-what`, unique and rising. */
  readonly name: string;
  readonly sql: string;
  readonly phase: MigrationPhase;
}

export const MIGRATIONS: readonly Migration[] = [
  { ...tables, phase: 'settled' },
  { ...roots, phase: 'expand' },
  { ...spends, phase: 'expand' },
];

/** The newest migration that this release knows. Names rise, so this one name says what a process knows. */
export const NEWEST_MIGRATION: string = MIGRATIONS.at(-1)!.name;
