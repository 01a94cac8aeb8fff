export { rotateFileKeys } from '@tidemark/keys-file';
export { type Access, accessRecords, auditTrail, openAccess } from './access.ts';
export { type AccessConfig, type ApiConfig, apiConfigFromEnv } from './access-config.ts';
export { type OpenOptions, openCluster, openClusterRebuild } from './cluster.ts';
export { type ClusterConfig, configFromEnv, hasClusterConfig, type TierConfig } from './config.ts';
export { type EmbeddedOptions, openEmbedded, openEmbeddedRebuild } from './embedded.ts';
export { EXIT, exitCodeOf } from './exit-codes.ts';
export { giveWay, stopGivingWay } from './give-way.ts';
export { type CompactorRole, Host, type HostOptions, type HostRole, type WorkerRole } from './host.ts';
export { type FolderKeys, folderKeysFromEnv, type Keys } from './keys.ts';
export { liveTraces } from './live-traces.ts';
export { loadDefinitions } from './load-definitions.ts';
export { embedderIn } from './memory-index.ts';
export { type Rebuild, type RebuildRole, unfinishedClusterRebuild } from './rebuild.ts';
export {
  failureReporter,
  type LogLevel,
  logLine,
  runService,
  SERVICE_NODE_FLAGS,
  type Service,
  warningLine,
} from './service.ts';
export { type SpotNoticeOptions, watchSpotNotice } from './spot-notice.ts';
export type { Tiers } from './tiers.ts';
export { TLS_SERVICES, type TlsConfig, type TlsFiles, type TlsService, tlsFromEnv } from './tls.ts';
