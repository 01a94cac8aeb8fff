/** Owns bringing the cluster's tables to this release by command; processes add what is missing by themselves, and never contract. */

import { type MigrationReport, migratePostgres } from '@tidemark/store-postgres';
import type { ClusterConfig } from './config.ts';

export type { MigrationReport, NamedMigration } from '@tidemark/store-postgres';

/** Throws as `migratePostgres` does. */
export const migrateCluster = (
  { postgresUrl, tls }: Pick<ClusterConfig, 'postgresUrl' | 'tls'>,
  options: { readonly mayContract: boolean; readonly isDryRun: boolean },
): Promise<MigrationReport> => migratePostgres({ url: postgresUrl, tls: tls.postgres, ...options });
