export { openCluster } from './cluster.ts';
export { type ClusterConfig, configFromEnv, hasClusterConfig } from './config.ts';
export { type EmbeddedOptions, openEmbedded } from './embedded.ts';
export { EXIT, exitCodeOf } from './exit-codes.ts';
export { Host, type HostOptions, type HostRole, type WorkerRole } from './host.ts';
export { loadDefinitions } from './load-definitions.ts';
export { embedderIn } from './memory-index.ts';
export { failureReporter, type LogLevel, logLine, runService, SERVICE_NODE_FLAGS, type Service } from './service.ts';
export { type SpotNoticeOptions, watchSpotNotice } from './spot-notice.ts';
