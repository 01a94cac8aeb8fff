/**
 * Owns checking each server of a cluster by itself: whether it is there, its version, and how fast it answers. Creates nothing on it. No
 * finding contains its credentials.
 */

import { isIP } from 'node:net';
import { ConfigError, messageOf } from '@tidemark/core';
import {
  type ClusterConfig,
  checkPostgresSession,
  type KafkaSecurity,
  PasswordClient,
  type TlsFiles,
} from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import { clusterPackage } from '@tidemark/traces';
import type pg from 'pg';
import { duration } from '../text/units.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Longest wait for a server's answer in `doctor`, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000;
/** A server's answer is slow from this many milliseconds on. */
const LATENCY_WARN_MS = 50;

export interface Probe {
  readonly findings: readonly Finding[];
  /** Whether the server answers, and has what commands read. */
  readonly usable: boolean;
  /** The racks of Kafka's brokers. */
  readonly racks?: readonly (string | null)[] | undefined;
}

const CLIENT = 'tidemark-doctor';
const clients = () => clusterPackage('Checking a cluster');

/** A finding about how long the answer took. */
function answered(check: string, message: string, ms: number): Finding {
  const said = `${message}, answers in ${ms < 1 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < LATENCY_WARN_MS) return ok(check, said);
  return warn(check, said, 'Every step waits for it: bring it nearer, or check its load.');
}

function absent(check: string, address: string, error: unknown, secrets: readonly string[]): Probe {
  const remedy = `Start it, or correct its address; nothing runs without it.`;
  const message = `${address} can't be used: ${withoutSecrets(messageOf(error), secrets)}`;
  return { findings: [fail(check, message, remedy, EXIT.unavailable)], usable: false };
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
}

/** Address without credentials, and the texts to mask. */
function parse(url: string): { readonly address: string; readonly secrets: readonly string[] } {
  const { protocol, hostname, port, pathname, password } = new URL(url);
  const address = `${protocol}//${hostname}${port === '' ? '' : `:${port}`}${pathname === '/' ? '' : pathname}`;
  return { address, secrets: [password, decodeURIComponent(password)] };
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const startedMs = performance.now();
  const value = await work();
  return { value, ms: performance.now() - startedMs };
}

/** Fails after the time that a probe may take. */
async function bounded<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${duration(PROBE_TIMEOUT_MS)}`)), PROBE_TIMEOUT_MS);
  work.catch(() => {}); // when it comes too late
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

export async function probeRedis(url: string, tls?: TlsFiles): Promise<Probe> {
  const { address, secrets } = parse(url);
  const { Redis } = await (await clients()).redisClient();
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    disableClientInfo: true,
    ...(tls && { tls: { ...tls } }),
  });
  let fault: unknown;
  redis.on('error', (error: unknown) => {
    fault = error;
  });
  try {
    const info = await bounded(redis.connect().then(() => redis.info())).catch((error: unknown) => {
      throw fault ?? error;
    });
    const { ms } = await timed(() => bounded(redis.ping()));
    const field = (name: string): string => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? 'unknown';
    // Nothing in it must last, so running without persistence is right, and is reported as such.
    const kept = field('aof_enabled') === '0' ? ', no append-only file, and none is needed' : '';
    const findings = [answered('Redis', `${address}, version ${field('redis_version')}${kept}`, ms)];
    const policy = field('maxmemory_policy');
    if (policy !== 'noeviction' && policy !== 'unknown') {
      const remedy = 'Set maxmemory-policy to noeviction; lost jobs are sent again, but late.';
      findings.push(warn('Redis', `maxmemory-policy is ${policy}: jobs may be dropped when it is full`, remedy));
    }
    const unfit =
      field('redis_mode') === 'cluster'
        ? fail('Redis', `${address} runs with cluster-enabled yes`, 'Use a Redis without cluster mode.', EXIT.config)
        : field('role') === 'slave' &&
          fail('Redis', `${address} is a replica, which takes no writes`, 'Name the primary.', EXIT.unavailable);
    return unfit ? { findings: [...findings, unfit], usable: false } : { findings, usable: true };
  } catch (error) {
    return absent('Redis', address, error, secrets);
  } finally {
    redis.disconnect();
  }
}

/** The SQLSTATE with which a server says that a database does not exist. */
const DATABASE_MISSING = '3D000';

export async function probePostgres({ url, tls, password }: ClusterConfig['postgres']): Promise<Probe> {
  const { address, secrets } = parse(url);
  const open = (): pg.Client =>
    new PasswordClient({
      connectionString: url,
      ...(password && { password }),
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      application_name: CLIENT,
      ...(tls && { ssl: { ...tls } }),
    });
  const client = open();
  client.on('error', () => {}); // the caller receives the error
  try {
    await bounded(client.connect());
    await bounded(checkPostgresSession(client, open));
    const settings = "select current_setting('server_version') as version, current_setting('fsync') as fsync";
    const { value, ms } = await timed(() => bounded(client.query<{ version: string; fsync: string }>(settings)));
    const { version = 'unknown', fsync } = value.rows[0] ?? {};
    const found = await bounded(
      client.query<{ there: boolean }>("select to_regclass('workflows') is not null as there"),
    );
    const findings = [answered('Postgres', `${address}, version ${version}`, ms)];
    // Its synchronous_commit does not matter: each connection sets its own.
    if (fsync === 'off') findings.push(warn('Postgres', 'fsync is off: a loss of power can damage its tables', FSYNC));
    if (found.rows[0]?.there === true) return { findings, usable: true };
    return { findings: [...findings, notMade('the tables are')], usable: false };
  } catch (error) {
    if ((error as { code?: unknown }).code === DATABASE_MISSING) {
      return { findings: [notMade(`${address} is there, the database is`)], usable: false };
    }
    if (error instanceof ConfigError) {
      return { findings: [fail('Postgres', error.message, POOLED, EXIT.config)], usable: false };
    }
    return absent('Postgres', address, error, secrets);
  } finally {
    await client.end().catch(() => {});
  }
}

const POOLED = 'Give this address sessions of its own; no process starts before.';
const FSYNC =
  'Set fsync=on. The log has all that rows say, and tidemark admin rebuild makes them from it; nothing starts meanwhile.';

const notMade = (what: string): Finding =>
  warn('Postgres', `${what} not made yet`, 'The first coordinator that starts makes them.');

export async function probeKafka(
  brokers: readonly string[],
  topic: string,
  security: KafkaSecurity = {},
): Promise<Probe> {
  const findings: Finding[] = [];
  let usable = false;
  let racks: Probe['racks'];
  for (const broker of brokers) {
    const probe = await probeBroker(broker, topic, security);
    // Reports the cluster's state once.
    findings.push(...(usable ? probe.findings.slice(0, 1) : probe.findings));
    usable ||= probe.usable;
    racks ??= probe.racks;
  }
  const isThere = findings.some(({ level }) => level !== 'fail');
  // Some unreachable brokers are a warning while others answer.
  if (isThere)
    return {
      findings: findings.map((each) => (each.level === 'fail' ? { ...each, level: 'warn' } : each)),
      usable,
      racks,
    };
  return { findings, usable, racks };
}

async function probeBroker(broker: string, topic: string, security: KafkaSecurity): Promise<Probe> {
  const at = broker.lastIndexOf(':');
  const host = broker.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const { kafkaClient, kafkaLog } = await clients();
  const [{ apiVersionsV4, Connection, metadataV12 }, { platformaticSecurity }] = await Promise.all([
    kafkaClient(),
    kafkaLog(),
  ]);
  const connection = new Connection(CLIENT, {
    connectTimeout: PROBE_TIMEOUT_MS,
    requestTimeout: PROBE_TIMEOUT_MS,
    ...platformaticSecurity({ ...security, brokers: [broker] }),
  });
  connection.on('error', () => {}); // the caller receives the error
  try {
    await bounded(
      Promise.resolve(connection.connect(isIP(host) === 6 ? `[${host}]` : host, Number(broker.slice(at + 1)))),
    );
    const versions = await bounded(apiVersionsV4.api.async(connection, CLIENT, '0'));
    const metadataOf = (topics: string[]) => bounded(metadataV12.api.async(connection, topics, false, false));
    const { value: metadata, ms } = await timed(() => metadataOf([]));
    const level = versions.finalizedFeatures?.find(({ name }) => name === 'metadata.version')?.maxVersionLevel;
    const brokerCount = metadata.brokers.length;
    const said = `${broker}, ${kafkaVersion(level)}, ${brokerCount} broker${brokerCount === 1 ? '' : 's'}`;
    const findings = [answered('Kafka', said, ms)];
    const racks = metadata.brokers.map(({ rack }) => rack ?? null);
    if (await isThere(() => metadataOf([topic]))) return { findings, usable: true, racks };
    const remedy = 'The first coordinator that starts makes it.';
    return { findings: [...findings, warn('Kafka', `topic ${topic} is not made yet`, remedy)], usable: false, racks };
  } catch (error) {
    return absent('Kafka', broker, rootOf(error), []);
  } finally {
    connection.socket?.destroy();
  }
}

/** Whether the topic that is looked up by its name is there; it is not created. */
async function isThere(lookUp: () => Promise<unknown>): Promise<boolean> {
  try {
    await lookUp();
    return true;
  } catch (error) {
    const { errors = [] } = error as { readonly errors?: readonly { readonly apiId?: string }[] };
    if (errors.some(({ apiId }) => apiId === 'UNKNOWN_TOPIC_OR_PARTITION')) return false;
    throw error;
  }
}

/** The innermost error names the reason (`connect ECONNREFUSED …`). */
function rootOf(error: unknown): unknown {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current;
}

/** A broker reports only the level of its metadata; each release of Kafka has a range of its own (MetadataVersion.java). */
function kafkaVersion(level: number | undefined): string {
  if (level === undefined) return 'version unknown';
  if (level < 22) return `version 3 (metadata level ${level})`;
  const release = level <= 25 ? '4.0' : level <= 27 ? '4.1' : '4.2 or newer';
  return `version ${release} (metadata level ${level})`;
}
