export type { KafkaSecurity } from '@tidemark/cluster';
export { rotateFileKeys } from '@tidemark/keys-file';
export type { MigrationReport, NamedMigration } from '@tidemark/store-postgres';
export { type Access, accessRecords, auditTrail, openAccess } from './access.ts';
export { type ApiConfig, apiConfigFromEnv } from './access-config.ts';
export {
  checkPostgresSession,
  kafkaSecurity,
  migrateCluster,
  openCluster,
  openClusterRebuild,
  PasswordClient,
} from './cluster.ts';
export {
  type ClusterConfig,
  configFromEnv,
  hasClusterConfig,
  hotMsFromEnv,
  onSecretFromEnv,
  type PoolConfig,
} from './config.ts';
export { openEmbedded, openEmbeddedRebuild } from './embedded.ts';
export { EXIT, exitCodeOf } from './exit-codes.ts';
export { giveWay, stopGivingWay } from './give-way.ts';
export { COMPACTOR_BYTES_PER_S, Host } from './host.ts';
export { folderKeysFromEnv, type Keys, keysMissing } from './keys.ts';
export { leaveWhenIdle } from './leave-idle.ts';
export { loadDefinitions, loadPools, warnOfUnprobed } from './load-definitions.ts';
export { failureReporter, logLine, warningLine } from './log.ts';
export { embedderIn, installedEmbedder, ownEmbedderFolder } from './memory-index.ts';
export { inClusterApi, keepDeletionCost } from './pod-deletion-cost.ts';
export { type Rebuild, type RebuildRole, unfinishedClusterRebuild } from './rebuild.ts';
export { runService, SERVICE_NODE_FLAGS, type Service, STOP_MARGIN_MS } from './service.ts';
export { watchSource } from './source-build.ts';
export { noSpotNotice, watchSpotNotice } from './spot-notice.ts';
export type { Tiers } from './tiers.ts';
export { TLS_SERVICES, type TlsFiles, tlsFromEnv } from './tls.ts';
