/** Owns the settings of cluster processes: their names in the environment, their defaults and their checks. Holds secrets; must not print them. */

import { networkInterfaces } from 'node:os';
import type { PresenceTls } from '@tidemark/cluster';
import { ConfigError, DURATION_MAX_COUNT, parseDuration, type RecoveryPolicy } from '@tidemark/core';
import type { OnSecret } from '@tidemark/runtime';
import { metricsSettings, traceSettings } from '@tidemark/traces';
import { z } from 'zod';
import { saslFromEnv } from './kafka-sasl.ts';
import { postgresPassword } from './postgres-password.ts';
import { tlsFromEnv } from './tls.ts';

const list = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  )
  .pipe(z.array(z.string().regex(/^[^\s/@]+:\d{1,5}$/, 'expected host:port[,host:port…]')).min(1));
const count = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
/** A reader that takes what follows a `/` in a password for a path would show it. */
const serverUrl = (...schemes: readonly string[]) =>
  url(...schemes).refine((text) => {
    const found = URL.parse(text);
    return found === null ? false : !`${found.pathname}${found.search}${found.hash}`.includes('@');
  }, 'expected an address; in a user name or password write / as %2F, ? as %3F, # as %23 and @ as %40');
const url = (...schemes: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => schemes.some((scheme) => text.startsWith(`${scheme}://`)),
      `expected ${schemes.join(':// or ')}://…`,
    );
/** Never zero: deleting after no time is hardly what was meant. */
const duration = z
  .string()
  .refine(
    (text) => (parseDuration(text) ?? 0) > 0,
    `expected a duration from 1 to ${DURATION_MAX_COUNT} of a unit, such as 90s, 15m, 36h or 7d`,
  );

const modulesOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

const keysAddress = z.union([
  z.literal(''),
  z.string().regex(/^(file|aws-kms|transit):/, 'expected file:, aws-kms: or transit:'),
]);

/** At most 31 crashes, which a workflow remembers. */
const RECOVERY = /^([1-9]|[12]\d|3[01])\/[1-9]\d{0,5}[smhd](\/\d{1,6}[smhd])?$/;

function recoveryOf(text: string): RecoveryPolicy {
  const [attempts, window = '', delay = '0s'] = text.split('/');
  return { attempts: Number(attempts), windowMs: parseDuration(window)!, delayMs: parseDuration(delay)! };
}

/** Names of pools are parts of names in Kubernetes. */
const POOL = '[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?=[^=;]+';
const POOLS = new RegExp(`^$|^${POOL}(;${POOL})*$`);

const poolsOf = (text: string): readonly PoolConfig[] =>
  (text === '' ? [] : text.split(';')).map((pool) => {
    const at = pool.indexOf('=');
    return { name: pool.slice(0, at), modules: modulesOf(pool.slice(at + 1)) };
  });

/** Largest number of partitions of one log: more than brokers are known to carry. */
const PARTITIONS_MOST = 131_072;

const settings = {
  TIDEMARK_KAFKA_BROKERS: list,
  /** How processes prove themselves to Kafka; empty: by a certificate of TLS, or not at all. `saslFromEnv` checks these six. */
  TIDEMARK_KAFKA_SASL: z.string().default(''),
  TIDEMARK_KAFKA_USERNAME: z.string().default(''),
  TIDEMARK_KAFKA_PASSWORD_FILE: z.string().default(''),
  TIDEMARK_KAFKA_TOKEN_URL: z.string().default(''),
  TIDEMARK_KAFKA_TOKEN_SCOPE: z.string().default(''),
  TIDEMARK_KAFKA_AWS_REGION: z.string().default(''),
  TIDEMARK_REDIS_URL: serverUrl('redis', 'rediss'),
  TIDEMARK_POSTGRES_URL: serverUrl('postgres', 'postgresql'),
  /** What gives the password at each connection where the address has none; empty: nothing. `postgresPassword` checks these three. */
  TIDEMARK_POSTGRES_PASSWORD_FILE: z.string().default(''),
  TIDEMARK_POSTGRES_PASSWORD_COMMAND: z.string().default(''),
  TIDEMARK_POSTGRES_AWS_REGION: z.string().default(''),
  /** Topic of the checkpoint log; also the prefix of everything in Redis. */
  TIDEMARK_TOPIC: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,200}$/, 'letters, digits, dot, underscore and hyphen are allowed')
    .default('tidemark'),
  /** Partitions of a new topic. */
  TIDEMARK_PARTITIONS: count(1, PARTITIONS_MOST).default(64),
  /** Largest size of the pool of partitions. */
  TIDEMARK_PARTITIONS_MAX: count(1, PARTITIONS_MOST).default(4_096),
  /** Live workflows of one tenant, and of all, beyond which a start is refused until some have ended; empty: any number. */
  TIDEMARK_TENANT_OPEN_MAX: z.union([z.literal(''), count(1, 100_000_000)]).default(''),
  TIDEMARK_OPEN_MAX: z.union([z.literal(''), count(1, 100_000_000)]).default(''),
  TIDEMARK_REPLICATION: count(1, 9).default(1),
  /** Workflows that one worker runs at once. */
  TIDEMARK_CONCURRENCY: count(1, 10_000).default(1_000),
  /** Time for steps under way after SIGTERM, in milliseconds. */
  TIDEMARK_DRAIN_MS: count(0, 3_600_000).default(20_000),
  /** Milliseconds without work after which a worker ends; 0: never. */
  TIDEMARK_EXIT_IDLE_MS: count(0, 3_600_000).default(0),
  /** Where a coordinator listens for the connections by which it notices a worker's end; port 0: any. */
  TIDEMARK_PRESENCE_HOST: z.string().min(1).default('0.0.0.0'),
  TIDEMARK_PRESENCE_PORT: count(0, 65_535).default(0),
  /** The host under which workers reach it; default: the one it listens on, or the machine's first address. */
  TIDEMARK_PRESENCE_ADVERTISED_HOST: z.string().default(''),
  /** Where a spot interruption notice appears: an address that begins to answer, or a file (`file:///PATH`) that becomes non-empty. */
  TIDEMARK_SPOT_NOTICE_URL: z
    .string()
    .refine(
      (text) => text === '' || (/^(https?:\/\/|file:\/\/\/)/.test(text) && URL.canParse(text)),
      'expected http://…, https://… or file:///PATH',
    )
    .default(''),
  /** The pod whose deletion cost a worker keeps current, by how much work would be repeated; empty: none. */
  TIDEMARK_POD_NAME: z.union([z.literal(''), z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)]).default(''),
  /** Modules that export workflows, separated by commas. */
  TIDEMARK_WORKFLOWS: z.string().default(''),
  /**
   * What its deployer calls the code that a worker runs, such as an image with its tag: with a digest of the workflows' modules it
   * distinguishes a new build from the one before: tasks that failed on that one resume on the new one (`onFailure:
   * 'retry-on-new-build'`); empty: the digest alone.
   */
  TIDEMARK_BUILD: z
    .string()
    .regex(/^[!-~]{0,100}$/, 'expected at most 100 printable characters without spaces')
    .default(''),
  /** Pools of workers, `NAME=MODULE,…;NAME=MODULE,…`, whose demand coordinators tell; empty: one of all workers. */
  TIDEMARK_POOLS: z.string().regex(POOLS, 'expected NAME=MODULE[,MODULE…][;NAME=…]').default(''),
  /** Folder of a sentence model, which finds memories by meaning; empty: by words alone. */
  TIDEMARK_EMBEDDER_FOLDER: z.string().default(''),
  /** `off`: rows have neither words nor vectors of memories, so none is found by its content. */
  TIDEMARK_MEMORY_WORDS: z.enum(['on', 'off']).default('on'),
  /** Where history goes that is no longer hot, `s3://BUCKET/PREFIX` or `file:///FOLDER`; empty: it stays in the log. */
  TIDEMARK_ARCHIVE_URL: z.union([z.literal(''), url('s3', 'file')]).default(''),
  /** Where it goes when it is no longer warm; empty: it stays. */
  TIDEMARK_COLD_URL: z.union([z.literal(''), url('s3', 'file')]).default(''),
  /** How long a workflow that has closed stays in log and rows. */
  TIDEMARK_HOT: duration.default('7d'),
  /** `on`: payloads are encrypted wherever they are stored, with a data key for each workflow. Needs TIDEMARK_KEYS_URL. */
  TIDEMARK_ENCRYPTION: z.enum(['on', 'off']).default('on'),
  /** The key that wraps data keys: `file:///PATH`, `aws-kms:KEY?region=…`, `transit:https://HOST/MOUNT/KEY?tokenFile=…`. */
  TIDEMARK_KEYS_URL: keysAddress.default(''),
  /**
   * How workflows are run again after crashes, where their definition doesn't say: so many crashes within that time are survived, with a
   * wait after the first that doubles with each.
   */
  TIDEMARK_RECOVERY: z
    .string()
    .regex(RECOVERY, 'expected CRASHES/WINDOW[/WAIT], such as 3/1h or 5/2h/10s')
    .default('3/1h'),
  /** What happens to secrets in what workflows store, where their definition doesn't say: `report`, `mask` or `refuse`. */
  TIDEMARK_ON_SECRET: z.enum(['report', 'mask', 'refuse']).default('report'),
  /** The key of fields that schemas mark as secret, in the same forms: a process with it may read them. */
  TIDEMARK_SECRETS_KEYS_URL: keysAddress.default(''),
  /** How long archived history stays warm, and how long it is kept at all (empty: forever), unless a tenant's policy says otherwise. */
  TIDEMARK_WARM: duration.default('90d'),
  TIDEMARK_KEEP: z.union([z.literal(''), duration]).default(''),
  /** Where `GET /metrics` is answered, `host:port`; empty: nowhere. */
  TIDEMARK_METRICS_LISTEN: z
    .string()
    .regex(/^$|^[^\s/@]+:\d{1,5}$/, 'expected host:port, such as 0.0.0.0:9464')
    .default(''),
  /** Where `GET /livez` and `GET /readyz` are answered, `host:port`; empty: nowhere. */
  TIDEMARK_HEALTH_LISTEN: z
    .string()
    .regex(/^$|^[^\s/@]+:\d{1,5}$/, 'expected host:port, such as 0.0.0.0:7071')
    .default(''),
} as const;

export interface PoolConfig {
  readonly name: string;
  /** Export what its workers run. */
  readonly modules: readonly string[];
}

export type ClusterConfig = Readonly<ReturnType<typeof configFromEnv>>;

/** Reads the settings. Throws `ConfigError` (`setting-invalid`) that names each wrong setting, never its value. */
export function configFromEnv(env: Readonly<Record<string, string | undefined>>) {
  const data = checked(z.object(settings), env);
  if (data.TIDEMARK_ENCRYPTION === 'on' && data.TIDEMARK_KEYS_URL === '') {
    throw new ConfigError(
      'setting-invalid',
      'Wrong settings in the environment: TIDEMARK_KEYS_URL is not set, and history on a cluster is encrypted by default. Name a key (file:///PATH/keys.json, aws-kms:KEY?region=REGION, transit:https://HOST/MOUNT/KEY?tokenFile=PATH), or set TIDEMARK_ENCRYPTION=off.',
    );
  }
  const [warmMs, keepMs] = [parseDuration(data.TIDEMARK_WARM)!, parseDuration(data.TIDEMARK_KEEP) ?? null];
  if (keepMs !== null && keepMs < warmMs) {
    throw new ConfigError(
      'setting-invalid',
      `Wrong settings in the environment: TIDEMARK_KEEP (${data.TIDEMARK_KEEP}) is less than TIDEMARK_WARM (${data.TIDEMARK_WARM}): history can't be deleted before it grows cold. Shorten TIDEMARK_WARM, or keep it longer.`,
    );
  }
  const tls = tlsFromEnv(env);
  const url = data.TIDEMARK_POSTGRES_URL;
  return {
    tls,
    sasl: saslFromEnv(env, tls),
    brokers: data.TIDEMARK_KAFKA_BROKERS,
    redisUrl: data.TIDEMARK_REDIS_URL,
    postgres: { url, tls: tls.postgres, password: postgresPassword(env, url, tls.postgres) },
    topic: data.TIDEMARK_TOPIC,
    partitions: data.TIDEMARK_PARTITIONS,
    partitionsMax: data.TIDEMARK_PARTITIONS_MAX,
    admission: {
      tenantOpenMax: data.TIDEMARK_TENANT_OPEN_MAX === '' ? undefined : data.TIDEMARK_TENANT_OPEN_MAX,
      openMax: data.TIDEMARK_OPEN_MAX === '' ? undefined : data.TIDEMARK_OPEN_MAX,
    },
    replication: data.TIDEMARK_REPLICATION,
    concurrency: data.TIDEMARK_CONCURRENCY,
    drainMs: data.TIDEMARK_DRAIN_MS,
    exitIdleMs: data.TIDEMARK_EXIT_IDLE_MS,
    presence: {
      host: data.TIDEMARK_PRESENCE_HOST,
      port: data.TIDEMARK_PRESENCE_PORT,
      advertisedHost: data.TIDEMARK_PRESENCE_ADVERTISED_HOST || reachableHost(data.TIDEMARK_PRESENCE_HOST),
      tls: tls.presence as PresenceTls | undefined,
    },
    spotNoticeUrl: data.TIDEMARK_SPOT_NOTICE_URL,
    podName: data.TIDEMARK_POD_NAME,
    build: data.TIDEMARK_BUILD || undefined,
    workflowModules: modulesOf(data.TIDEMARK_WORKFLOWS),
    pools: poolsOf(data.TIDEMARK_POOLS),
    metricsListen: data.TIDEMARK_METRICS_LISTEN,
    healthListen: data.TIDEMARK_HEALTH_LISTEN,
    traces: traceSettings(env),
    metrics: metricsSettings(env),
    embedderFolder: data.TIDEMARK_EMBEDDER_FOLDER,
    memoryWords: data.TIDEMARK_MEMORY_WORDS,
    keysUrl: data.TIDEMARK_ENCRYPTION === 'on' ? data.TIDEMARK_KEYS_URL : '',
    secretsUrl: data.TIDEMARK_SECRETS_KEYS_URL,
    onSecret: data.TIDEMARK_ON_SECRET,
    recovery: recoveryOf(data.TIDEMARK_RECOVERY),
    tiers: {
      archiveUrl: data.TIDEMARK_ARCHIVE_URL,
      coldUrl: data.TIDEMARK_COLD_URL,
      hotMs: parseDuration(data.TIDEMARK_HOT)!,
      retention: { warmMs, keepMs },
    },
  };
}

/** Of a folder. Throws `ConfigError` (`setting-invalid`). */
export function onSecretFromEnv(env: Readonly<Record<string, string | undefined>>): OnSecret {
  const { TIDEMARK_ON_SECRET } = settings;
  return checked(z.object({ TIDEMARK_ON_SECRET }), env).TIDEMARK_ON_SECRET;
}

/** How long a closed workflow of a folder stays hot; the rest of its compactor's policy has the defaults. Throws `ConfigError` (`setting-invalid`). */
export function hotMsFromEnv(env: Readonly<Record<string, string | undefined>>): number {
  const { TIDEMARK_HOT } = settings;
  return parseDuration(checked(z.object({ TIDEMARK_HOT }), env).TIDEMARK_HOT)!;
}

function checked<Schema extends z.ZodType>(
  schema: Schema,
  env: Readonly<Record<string, string | undefined>>,
): z.infer<Schema> {
  const parsed = schema.safeParse(env);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => {
    // Names a wrong part of a list.
    const name = String(issue.path[0]);
    return env[name] === undefined ? `${name} is not set` : `${name}: ${issue.message}`;
  });
  throw new ConfigError('setting-invalid', `Wrong settings in the environment: ${problems.join('; ')}.`);
}

/** A process that listens on every address is reached at the machine's first one that isn't loopback. */
function reachableHost(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}

/** True when the environment names a cluster; otherwise commands use the embedded default. */
export const hasClusterConfig = (env: Readonly<Record<string, string | undefined>>): boolean =>
  env.TIDEMARK_KAFKA_BROKERS !== undefined;
