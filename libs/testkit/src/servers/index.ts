/**
 * Entry point of the test servers: for `npm run cluster`, the bench, and tests that crash a server of their own. Test files that share the
 * run's servers use `@tidemark/testkit/suites`.
 */

export { cached, runInstaller } from './cache-folder.ts';
export { type ClusterServers, startClusterServers, startSecured, startServer } from './find.ts';
export { freePort } from './free-port.ts';
export { type FreshDatabase, freshDatabase, freshRedisPrefix, freshTopicName } from './fresh.ts';
export {
  jvmFlags,
  type KafkaBehindProxies,
  pingKafka,
  serverProperties as kafkaServerProperties,
  startKafkaBehindProxies,
} from './kafka.ts';
export { kafkaDistribution } from './kafka-jars.ts';
export { type KafkaWithSasl, startKafkaWithSasl } from './kafka-sasl.ts';
export {
  makeServerFolder,
  makeTestsFolder,
  type NativeCommand,
  type NativeProcess,
  removeServerFolder,
  startNativeProcess,
  waitUntilReady,
} from './native-process.ts';
export { postgresPrograms } from './postgres-programs.ts';
export { requireProgram } from './programs.ts';
export { installedPackages } from './python.ts';
export { pingRedis } from './redis.ts';
export type { SecuredBy } from './securing.ts';
export { sentenceModel } from './sentence-model.ts';
export {
  addressVariable,
  type ClusterKind,
  type DataIn,
  type ForeignServer,
  isUnavailable,
  type NativeServer,
  type ServerKind,
  type ServerOptions,
  type ServerSource,
  type StartedServer,
  serverKinds,
  type UnavailableServer,
} from './server.ts';
export { type CertificateFiles, pemOf, ThrowAwayAuthority } from './throw-away-authority.ts';
