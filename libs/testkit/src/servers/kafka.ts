/**
 * Owns obtaining a test Kafka: its container image, the configuration of the native single-node KRaft broker, its ping. The native broker
 * is sized for two cores and thousands of partitions; topics are never created by accident.
 */
import { cpSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { UnavailableError } from '@tidemark/core';
import { kafkaDistribution } from './kafka-jars.ts';
import { connectTimeoutMs, kafkaHeapMaxBytes, kafkaHeapStartBytes } from './limits.ts';
import { startNativeServer } from './native-server.ts';
import { pingSecured, type SecuredBy, securedFiles } from './securing.ts';
import type { DataIn, NativeServer } from './server.ts';

export const kafkaImage = 'apache/kafka:4.1.1';

/** Broker settings that are the same in a container and natively. */
export const kafkaSettings: Readonly<Record<string, string | number>> = {
  'auto.create.topics.enable': 'false',
  'offsets.topic.num.partitions': 1,
  'offsets.topic.replication.factor': 1,
  'transaction.state.log.num.partitions': 1,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  'share.coordinator.state.topic.num.partitions': 1,
  'share.coordinator.state.topic.replication.factor': 1,
  'share.coordinator.state.topic.min.isr': 1,
  'group.initial.rebalance.delay.ms': 0,
  // A broker that was killed is let in again only when its old session is over (by default 9 s).
  'broker.session.timeout.ms': 3_000,
  'broker.heartbeat.interval.ms': 500,
  'num.network.threads': 2,
  'num.io.threads': 4,
  'background.threads': 2,
  'num.recovery.threads.per.data.dir': 2,
  'log.cleaner.threads': 1,
  'log.cleaner.dedupe.buffer.size': 16_777_216,
  'log.cleaner.backoff.ms': 1_000,
  // Small files: thousands of partitions share one memory file system, and each index is preallocated.
  'log.segment.bytes': 134_217_728,
  'log.index.size.max.bytes': 1_048_576,
  'log.segment.delete.delay.ms': 1_000,
};

export async function startNativeKafka(dataIn: DataIn): Promise<NativeServer> {
  const { server } = await startKafkaBehindProxies([], dataIn);
  return server;
}

/** A native broker whose clients use TLS alone, by PEM files as a cluster mounts them. */
export async function startKafkaSecured(dataIn: DataIn, secured: SecuredBy): Promise<NativeServer> {
  const { java, classPath, formatted } = await kafkaDistribution();
  return startNativeServer(
    {
      kind: 'kafka',
      portCount: 2,
      address: (port) => `127.0.0.1:${port}`,
      ping: (port) => pingSecured(port, secured, metadataRequest()),
      async prepare(folder, [port, controllerPort]) {
        const data = path.join(folder, 'data');
        cpSync(path.join(formatted, 'data'), data, { recursive: true });
        const properties = path.join(folder, 'server.properties');
        const plain = serverProperties(data, port ?? 0, controllerPort ?? 0, []);
        await writeFile(
          properties,
          `${plain.replaceAll('PLAINTEXT://', 'SSL://')}${await tlsProperties(folder, secured)}`,
        );
        return { command: java, args: [...jvmFlags, '-cp', classPath, 'kafka.Kafka', properties], folder };
      },
    },
    dataIn,
  );
}

async function tlsProperties(folder: string, secured: SecuredBy): Promise<string> {
  const { ca, cert, key } = await securedFiles(folder, secured);
  const both = path.join(folder, 'keystore.pem');
  await writeFile(both, `${await readFile(key, 'utf8')}${await readFile(cert, 'utf8')}`);
  const lines = {
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,SSL:SSL',
    'inter.broker.listener.name': 'SSL',
    'ssl.client.auth': 'required',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': both,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': ca,
  };
  return `${Object.entries(lines)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}

export const jvmFlags = [
  `-Xms${kafkaHeapStartBytes}`,
  `-Xmx${kafkaHeapMaxBytes}`,
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-Djava.awt.headless=true',
];

export interface KafkaBehindProxies {
  readonly server: NativeServer;
  /** `host:port` of the listener behind each proxy, in the order of the proxies. The server's own address bypasses them. */
  readonly listeners: readonly string[];
}

/**
 * A native broker with a further listener for each proxy, which tells its clients the proxy's address (`host:port`) as the
 * broker's own: a client that came through a proxy stays with it.
 */
export async function startKafkaBehindProxies(
  proxies: readonly string[],
  dataIn: DataIn = 'memory',
): Promise<KafkaBehindProxies> {
  const { java, classPath, formatted } = await kafkaDistribution();
  let listeners: readonly string[] = [];
  const server = await startNativeServer(
    {
      kind: 'kafka',
      portCount: 2 + proxies.length,
      address: (port) => `127.0.0.1:${port}`,
      ping: (port) => pingKafka(`127.0.0.1:${port}`),
      async prepare(folder, [port, controllerPort, ...linkPorts]) {
        const data = path.join(folder, 'data');
        cpSync(path.join(formatted, 'data'), data, { recursive: true });
        const properties = path.join(folder, 'server.properties');
        listeners = linkPorts.map((linkPort) => `127.0.0.1:${linkPort}`);
        const links = listeners.map((own, index) => ({ own, advertised: proxies[index] ?? own }));
        await writeFile(properties, serverProperties(data, port ?? 0, controllerPort ?? 0, links));
        return { command: java, args: [...jvmFlags, '-cp', classPath, 'kafka.Kafka', properties], folder };
      },
    },
    dataIn,
  );
  return { server, listeners };
}

interface Link {
  readonly own: string;
  readonly advertised: string;
}

export function serverProperties(data: string, port: number, controllerPort: number, links: readonly Link[]): string {
  const named = (address: (link: Link) => string): string =>
    links.map((link, index) => `,LINK${index}://${address(link)}`).join('');
  const own = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}${named((link) => link.own)}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}${named((link) => link.advertised)}`,
    'inter.broker.listener.name': 'PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': `CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT${links.map((_, index) => `,LINK${index}:PLAINTEXT`).join('')}`,
    'log.dirs': data,
  };
  const lines = Object.entries({ ...own, ...kafkaSettings }).map(([name, value]) => `${name}=${value}`);
  return `${lines.join('\n')}\n`;
}

/**
 * Rejects unless a broker answers and is registered with its controller, so that topics can be created. Speaks one
 * request of the protocol itself (Metadata, version 4, no topics: the brokers alone), which needs no client.
 */
export async function pingKafka(address: string): Promise<void> {
  const [first = ''] = address.split(',');
  const separator = first.lastIndexOf(':');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({
    host: first.slice(0, separator),
    port: Number(first.slice(separator + 1)),
    timeout: connectTimeoutMs,
  });
  let answer = Buffer.alloc(0);
  socket.once('connect', () => socket.write(metadataRequest()));
  socket.on('data', (chunk) => {
    answer = Buffer.concat([answer, chunk]);
    if (answer.length < brokerCountAt + 4) return;
    if (answer.readInt32BE(brokerCountAt) > 0) resolve();
    else reject(new UnavailableError('test-server-starting', 'no broker is registered yet'));
  });
  socket.once('error', reject);
  socket.once('close', () => reject(new UnavailableError('test-server-foreign', 'what answers is not a ready Kafka')));
  socket.once('timeout', () => reject(new UnavailableError('test-server-silent', 'no answer to a metadata request')));
  try {
    await promise;
  } finally {
    socket.destroy();
  }
}

/** Behind the size, the correlation id and the throttle time, four bytes each. */
const brokerCountAt = 12;

/** size, key 3, version 4, correlation id 1, client id "ping", no topics, no creation. */
function metadataRequest(): Buffer {
  const body = Buffer.from('0003000400000001000470696e670000000000', 'hex');
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return Buffer.concat([size, body]);
}
