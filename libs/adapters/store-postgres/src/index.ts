/** Entry point of the library: projections on Postgres and on PGlite. */

export type { PostgresAccess } from './address.ts';
export {
  type MigratePostgresOptions,
  type MigrationReport,
  migratePostgres,
  type NamedMigration,
} from './migrate-postgres.ts';
export { openPgliteRebuild, openPostgresRebuild, unfinishedPostgresRebuild } from './open-rebuild.ts';
export { openPgliteStore, type PgliteStoreOptions } from './pglite-store.ts';
export { PasswordClient } from './pool-client.ts';
export { openPostgresStore, type PostgresStoreOptions } from './postgres-store.ts';
export type { RebuildPurpose } from './rebuild-schema.ts';
export { checkSession } from './session-check.ts';
