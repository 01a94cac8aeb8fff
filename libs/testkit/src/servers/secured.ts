/**
 * Owns starting native test servers that use nothing but TLS: each shows a certificate and requires one of its clients. For tests of how
 * connections are secured; other tests have plain servers.
 */

import { startKafkaSecured } from './kafka.ts';
import { startNativePostgres } from './postgres.ts';
import { startNativeRedis } from './redis.ts';
import type { SecuredBy } from './securing.ts';
import type { ClusterKind, NativeServer } from './server.ts';

const START = { kafka: startKafkaSecured, redis: startNativeRedis, postgres: startNativePostgres };

export const startSecured = (kind: ClusterKind, by: SecuredBy): Promise<NativeServer> => START[kind]('memory', by);
