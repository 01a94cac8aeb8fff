/**
 * Owns the servers in containers, through testcontainers, which is loaded only when a Docker engine answers.
 * testcontainers' own reaper removes the containers of a process that died.
 */
import { request } from 'node:http';
import { UnavailableError } from '@tidemark/core';
import { freePort } from './free-port.ts';
import { kafkaImage, kafkaSettings } from './kafka.ts';
import { dockerPingTimeoutMs, serverStartTimeoutMs } from './limits.ts';
import { postgresImage } from './postgres.ts';
import { redisImage } from './redis.ts';
import type { ForeignServer, ServerKind } from './server.ts';

/** Asks the engine named by DOCKER_HOST, else the usual socket. Rejects with why it can't be used. */
async function assertDocker(): Promise<void> {
  const host = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock';
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const where = host.startsWith('unix://')
    ? { socketPath: host.slice('unix://'.length) }
    : { host: new URL(host).hostname, port: Number(new URL(host).port || 2375) };
  const ping = request({ ...where, path: '/_ping', timeout: dockerPingTimeoutMs }, (answer) => {
    answer.resume();
    // An engine that wants TLS refuses this plain ping but exists: testcontainers can connect to it.
    resolve();
  });
  ping.once('error', () => reject(new UnavailableError('test-server-docker', 'no Docker engine answers')));
  ping.once('timeout', () => ping.destroy(new Error('time-out')));
  ping.end();
  await promise;
}

interface Recipe {
  readonly image: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly ready: RegExp;
  readonly readyTimes: number;
  address(host: string, port: number): string;
}

export async function startInDocker(kind: ServerKind): Promise<ForeignServer> {
  const recipe = recipes[kind];
  if (recipe === undefined) throw new UnavailableError('test-server-docker', 'had natively only');
  await assertDocker();
  const { GenericContainer, Wait } = await import('testcontainers');
  // Kafka must advertise the port that the host maps, so it is chosen beforehand.
  const hostPort = await freePort();
  const env = kind === 'kafka' ? { ...recipe.env, ...advertised(hostPort) } : recipe.env;
  const container = await new GenericContainer(recipe.image)
    .withEnvironment(env)
    .withCommand([...recipe.command])
    .withExposedPorts({ container: recipe.port, host: hostPort })
    .withWaitStrategy(Wait.forLogMessage(recipe.ready, recipe.readyTimes))
    .withStartupTimeout(serverStartTimeoutMs)
    .start();
  return {
    kind,
    source: 'docker',
    address: recipe.address(container.getHost(), hostPort),
    stop: async () => {
      await container.stop();
    },
  };
}

function advertised(hostPort: number): Record<string, string> {
  return { KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://localhost:${hostPort}` };
}

/** The image takes each setting as a variable: `num.io.threads` is KAFKA_NUM_IO_THREADS. */
const kafkaEnv: Readonly<Record<string, string>> = {
  KAFKA_NODE_ID: '1',
  KAFKA_PROCESS_ROLES: 'broker,controller',
  KAFKA_LISTENERS: 'PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093',
  KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
  KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
  ...Object.fromEntries(
    Object.entries(kafkaSettings).map(([name, value]) => [
      `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`,
      String(value),
    ]),
  ),
};

const recipes: Readonly<Partial<Record<ServerKind, Recipe>>> = {
  kafka: {
    image: kafkaImage,
    port: 9092,
    env: kafkaEnv,
    command: [],
    ready: /Kafka Server started/,
    readyTimes: 1,
    address: (host, port) => `${host}:${port}`,
  },
  redis: {
    image: redisImage,
    port: 6379,
    env: {},
    command: ['redis-server', '--save', '', '--appendonly', 'no'],
    ready: /Ready to accept connections/,
    readyTimes: 1,
    address: (host, port) => `redis://${host}:${port}`,
  },
  postgres: {
    image: postgresImage,
    port: 5432,
    env: { POSTGRES_USER: 'tidemark', POSTGRES_PASSWORD: 'tidemark' },
    command: ['postgres', '-c', 'fsync=off', '-c', 'max_connections=200'],
    ready: /database system is ready to accept connections/,
    // The image starts the server once to initialise it, and then again.
    readyTimes: 2,
    address: (host, port) => `postgres://tidemark:tidemark@${host}:${port}/postgres`,
  },
};
