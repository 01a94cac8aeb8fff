/** The door of the library: projections on Postgres and on PGlite. */

export { openPgliteStore, type PgliteStoreOptions } from './pglite-store.ts';
export { openPostgresStore, type PostgresStoreOptions } from './postgres-store.ts';
export { openScratchStore } from './scratch-store.ts';
