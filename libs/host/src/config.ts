/** Owns the settings of cluster processes: their names in the environment, their defaults and their checks. Holds secrets; must not print them. */

import { ConfigError } from '@tidemark/core';
import { z } from 'zod';

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
const url = (...schemes: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => schemes.some((scheme) => text.startsWith(`${scheme}://`)),
      `expected ${schemes.join(':// or ')}://…`,
    );

const settings = {
  TIDEMARK_KAFKA_BROKERS: list,
  TIDEMARK_REDIS_URL: url('redis', 'rediss'),
  TIDEMARK_POSTGRES_URL: url('postgres', 'postgresql'),
  /** Topic of the checkpoint log; also the prefix of everything in Redis. */
  TIDEMARK_TOPIC: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,200}$/, 'letters, digits, dot, underscore and hyphen are allowed')
    .default('tidemark'),
  /** Partitions that a new topic begins with. */
  TIDEMARK_PARTITIONS: count(1, 100_000).default(64),
  /** Largest size of the pool of partitions. */
  TIDEMARK_PARTITIONS_MAX: count(1, 100_000).default(4_096),
  TIDEMARK_REPLICATION: count(1, 9).default(1),
  TIDEMARK_APPEND_CLIENT: z.enum(['platformatic', 'kafkajs']).default('platformatic'),
  /** Workflows that one worker runs at once. */
  TIDEMARK_CONCURRENCY: count(1, 10_000).default(1_000),
  /** Time for steps under way after SIGTERM, in milliseconds. */
  TIDEMARK_DRAIN_MS: count(0, 3_600_000).default(20_000),
  /** Modules that export workflows, separated by commas. */
  TIDEMARK_WORKFLOWS: z.string().default(''),
  /** `on`: spans and metrics go to the OpenTelemetry API of the process. */
  TIDEMARK_TELEMETRY: z.enum(['on', 'off']).default('off'),
} as const;

export interface ClusterConfig {
  readonly brokers: readonly string[];
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly topic: string;
  readonly partitions: number;
  readonly partitionsMax: number;
  readonly replication: number;
  readonly appendClient: 'platformatic' | 'kafkajs';
  readonly concurrency: number;
  readonly drainMs: number;
  readonly workflowModules: readonly string[];
  readonly telemetry: boolean;
}

/** Reads the settings. Throws `ConfigError` (`setting-invalid`) that names each wrong setting, never its value. */
export function configFromEnv(env: Readonly<Record<string, string | undefined>>): ClusterConfig {
  const parsed = z.object(settings).safeParse(env);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => {
      const name = issue.path.map(String).join('.');
      return env[name] === undefined ? `${name} is not set` : `${name}: ${issue.message}`;
    });
    throw new ConfigError('setting-invalid', `Wrong settings in the environment: ${problems.join('; ')}.`);
  }
  const { data } = parsed;
  return {
    brokers: data.TIDEMARK_KAFKA_BROKERS,
    redisUrl: data.TIDEMARK_REDIS_URL,
    postgresUrl: data.TIDEMARK_POSTGRES_URL,
    topic: data.TIDEMARK_TOPIC,
    partitions: data.TIDEMARK_PARTITIONS,
    partitionsMax: data.TIDEMARK_PARTITIONS_MAX,
    replication: data.TIDEMARK_REPLICATION,
    appendClient: data.TIDEMARK_APPEND_CLIENT,
    concurrency: data.TIDEMARK_CONCURRENCY,
    drainMs: data.TIDEMARK_DRAIN_MS,
    workflowModules: data.TIDEMARK_WORKFLOWS.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    telemetry: data.TIDEMARK_TELEMETRY === 'on',
  };
}

/** True when the environment names a cluster; otherwise commands use the embedded default. */
export const hasClusterConfig = (env: Readonly<Record<string, string | undefined>>): boolean =>
  env.TIDEMARK_KAFKA_BROKERS !== undefined;
