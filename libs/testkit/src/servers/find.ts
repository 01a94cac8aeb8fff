/**
 * Owns the order in which a server is searched for: an address in the environment, Docker, native. A given address that does not answer is
 * never replaced by another server: the person meant that one. Must not print; an unavailable server is a value with reason and remedy,
 * without credentials. It starts the three of a cluster together as well, and native ones that use nothing but TLS.
 */

import { messageOf, UnavailableError } from '@tidemark/core';
import { pingBao, startNativeBao } from './bao.ts';
import { startInDocker } from './docker.ts';
import { pingKafka, startKafkaSecured, startNativeKafka } from './kafka.ts';
import { pingKms, startNativeKms } from './kms.ts';
import { pingPostgres, startNativePostgres } from './postgres.ts';
import { pingRedis, startNativeRedis } from './redis.ts';
import { pingS3, startNativeS3 } from './s3.ts';
import type { SecuredBy } from './securing.ts';
import {
  addressVariable,
  type ClusterKind,
  clusterKinds,
  type DataIn,
  isUnavailable,
  type NativeServer,
  type ServerKind,
  type ServerOptions,
  type ServerSource,
  type StartedServer,
  type UnavailableServer,
} from './server.ts';

const allSources: readonly ServerSource[] = ['environment', 'docker', 'native'];

type StartNative = (dataIn: DataIn, options: ServerOptions) => Promise<StartedServer>;

const startNative: Readonly<Record<ServerKind, StartNative>> = {
  kafka: startNativeKafka,
  redis: (dataIn) => startNativeRedis(dataIn),
  postgres: (dataIn, { synced }) => startNativePostgres(dataIn, undefined, synced),
  s3: startNativeS3,
  kms: startNativeKms,
  bao: startNativeBao,
};
const ping = {
  kafka: pingKafka,
  redis: pingRedis,
  postgres: pingPostgres,
  s3: pingS3,
  kms: pingKms,
  bao: pingBao,
};

const nativeRemedy: Readonly<Record<ServerKind, string>> = {
  kafka: 'install Java 17 and Maven',
  redis: 'install redis-server',
  postgres: 'install Postgres',
  s3: 'install Python 3 with pip',
  kms: 'install Python 3 with pip',
  bao: 'install Python 3 with pip',
};

export async function startServer(
  kind: ServerKind,
  options: ServerOptions = {},
): Promise<StartedServer | UnavailableServer> {
  const sources = options.sources ?? allSources;
  const given = process.env[addressVariable[kind]];
  if (sources.includes('environment') && given !== undefined && given !== '') return await fromEnvironment(kind, given);
  const reasons: string[] = [];
  for (const source of sources) {
    if (source === 'environment') continue;
    try {
      return await startFrom(source, kind, options);
    } catch (error) {
      reasons.push(`${source}: ${messageOf(error)}`);
    }
  }
  return { kind, unavailable: reasons.join('; '), remedy: remedyFor(kind) };
}

async function startFrom(
  source: 'docker' | 'native',
  kind: ServerKind,
  options: ServerOptions,
): Promise<StartedServer> {
  if (source === 'docker') return await startInDocker(kind);
  return await startNative[kind](options.dataIn ?? 'memory', options);
}

async function fromEnvironment(kind: ServerKind, address: string): Promise<StartedServer | UnavailableServer> {
  try {
    await ping[kind](address);
  } catch (error) {
    const code = (error as { code?: string }).code ?? (error instanceof Error ? error.name : 'error');
    return {
      kind,
      unavailable: `${addressVariable[kind]} names ${withoutCredentials(address)}, which does not answer (${code})`,
      remedy: `start that server, or unset ${addressVariable[kind]} to have one started`,
    };
  }
  return { kind, address, source: 'environment', stop: async () => undefined };
}

function remedyFor(kind: ServerKind): string {
  return `${nativeRemedy[kind]}, start Docker, or set ${addressVariable[kind]} to the address of one`;
}

/** What stands before the @ is the user's secret. */
function withoutCredentials(address: string): string {
  return address.replace(/\/\/[^/]*@/, '//').replace(/^[^/]*@/, '');
}

export type ClusterServers = Readonly<Record<ClusterKind, StartedServer>> & { stop(): Promise<void> };

/** Starts all three at once. When one is unavailable, rejects with every reason and remedy, and leaves none running. */
export async function startClusterServers(options: ServerOptions = {}): Promise<ClusterServers> {
  const found = await Promise.all(clusterKinds.map((kind) => startServer(kind, options)));
  const started = found.filter((server): server is StartedServer => !isUnavailable(server));
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.stop()));
  };
  const missing = found.filter(isUnavailable);
  if (missing.length > 0) {
    await stop();
    const text = missing.map((server) => `${server.kind}: ${server.unavailable}. Remedy: ${server.remedy}.`);
    throw new UnavailableError('test-servers-unavailable', text.join('\n'), { kinds: missing.map(({ kind }) => kind) });
  }
  const byKind = Object.fromEntries(started.map((server) => [server.kind, server]));
  return { ...(byKind as Record<ClusterKind, StartedServer>), stop };
}

const START = { kafka: startKafkaSecured, redis: startNativeRedis, postgres: startNativePostgres };

/** Shows a certificate and requires one of its clients. For tests of how connections are secured; other tests have plain servers. */
export const startSecured = (kind: ClusterKind, by: SecuredBy): Promise<NativeServer> => START[kind]('memory', by);
