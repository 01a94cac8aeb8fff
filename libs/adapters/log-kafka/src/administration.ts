/**
 * Owns the topic itself, through kafkajs: creating and growing it, and checking that its settings lose no records (of the log: no
 * retention, no compaction). Must not touch records, and never changes the settings of an existing topic.
 */

import { ConfigError, UnavailableError } from '@tidemark/core';
import type { Admin } from 'kafkajs';
import { CLIENT_ID, rootMessage } from './channel.ts';
import { ConfigResourceTypes, Kafka, logLevel } from './kafkajs.ts';
import { type KafkaSecurity, kafkajsSecurity } from './security.ts';

export interface TopicRules {
  /** Settings without which records would be lost: set on a topic that is created here, and required of every other. */
  readonly kept: Readonly<Record<string, string>>;
  /** Further settings of a topic that is created here; of another, larger ones are warned of. */
  readonly made?: Readonly<Record<string, string>>;
}

/** A setting of a topic that somebody else made, as messages name it: `retention.ms=604800000 (wanted: -1)`. */
export interface Misfit {
  readonly setting: string;
  readonly found: string;
  readonly wanted: string;
  /** What it is for, where `wanted` doesn't say. */
  readonly why?: string;
}

/** Required of every topic: a replica that lacks acknowledged records must never lead. */
export const NO_UNCLEAN_LEADER = { 'unclean.leader.election.enable': 'false' } as const;

export const LOG_RULES: TopicRules = {
  kept: { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1', ...NO_UNCLEAN_LEADER },
};

/** The least `max.message.bytes` with which events fit: less than ours bounds what workflows may store. */
const BATCH_NEEDED_BYTES = 32 * 1_024;

/** From this many replicas on, two must have a record before it counts as stored. */
const REPLICAS_FOR_TWO_IN_SYNC = 3;

export interface AdministrationOptions {
  readonly topic: string;
  readonly rules: TopicRules;
  readonly brokers: readonly string[];
  readonly security: KafkaSecurity;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
}

export interface NewTopic {
  readonly partitions: number;
  /** -1: the cluster's default. */
  readonly replicationFactor: number;
  readonly batchMaxBytes: number;
}

export interface TopicSettings {
  readonly batchMaxBytes: number;
  readonly minInSyncReplicas: number;
  /** What loses nothing and is to be mended all the same. */
  readonly lax: readonly Misfit[];
}

/** Errors of kafkajs carry Kafka's name of the error, also inside an aggregate. */
function kafkaType(error: unknown): string | undefined {
  const shape = error as { type?: string; errors?: unknown[] };
  return shape.type ?? (shape.errors === undefined ? undefined : kafkaType(shape.errors[0]));
}

export class Administration {
  readonly #options: AdministrationOptions;

  constructor(options: AdministrationOptions) {
    this.#options = options;
  }

  /** Creates the topic; harmless when it exists. */
  async create({ partitions, replicationFactor, batchMaxBytes }: NewTopic): Promise<void> {
    const { kept, made } = this.#options.rules;
    const twoInSync = replicationFactor >= REPLICAS_FOR_TWO_IN_SYNC ? { 'min.insync.replicas': '2' } : {};
    const configEntries = Object.entries({
      ...kept,
      ...twoInSync,
      ...made,
      'max.message.bytes': String(batchMaxBytes),
      // The broker's time in a record is for people; Kafka must not refuse a writer whose clock is hours off.
      'message.timestamp.type': 'LogAppendTime',
    }).map(([name, value]) => ({ name, value }));
    const topic = { topic: this.#options.topic, numPartitions: partitions, replicationFactor, configEntries };
    await this.#with('creating', async (admin) => {
      await admin.createTopics({ waitForLeaders: false, timeout: this.#options.timeoutMs, topics: [topic] });
    });
  }

  /** Grows the topic to `count` partitions; harmless when it has as many. */
  async grow(count: number): Promise<void> {
    await this.#with('growing', async (admin) => {
      try {
        const topicPartitions = [{ topic: this.#options.topic, count }];
        await admin.createPartitions({ timeout: this.#options.timeoutMs, topicPartitions });
      } catch (error) {
        if (kafkaType(error) !== 'INVALID_PARTITIONS') throw error; // another process was faster
      }
    });
  }

  /**
   * Reads the settings that matter. Throws `ConfigError` with code `log-topic-unsafe`, which names each that would lose records or keep any
   * from being appended, and how to mend all of them.
   */
  async settings(replicationFactor: number): Promise<TopicSettings> {
    const { topic, rules, brokers } = this.#options;
    const values = await this.#with('reading the settings of', async (admin) => {
      const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic }];
      const described = await admin.describeConfigs({ includeSynonyms: false, resources });
      return new Map(
        described.resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]),
      );
    });
    const misfits = misfitsOf(values, rules, replicationFactor);
    if (misfits.length > 0) {
      const named = misfits.map(misfitText).join('; ');
      const set = misfits.map(({ setting, wanted }) => `${setting}=${wanted}`).join(',');
      const message = `The Kafka topic "${topic}" is there and can't be used as it is: ${named}. Set them, as by kafka-configs.sh --bootstrap-server ${brokers[0]} --alter --entity-type topics --entity-name ${topic} --add-config ${set}, or name another topic.`;
      throw new ConfigError('log-topic-unsafe', message, { topic, misfits });
    }
    const batchMaxBytes = Number(values.get('max.message.bytes') ?? Number.POSITIVE_INFINITY);
    const lax = Object.entries(rules.made ?? {}).flatMap(([setting, wanted]) => {
      const found = values.get(setting);
      return found !== undefined && Number(found) > Number(wanted) ? [{ setting, found, wanted }] : [];
    });
    return { batchMaxBytes, minInSyncReplicas: Number(values.get('min.insync.replicas') ?? 1), lax };
  }

  /** Opens a connection for one operation: they are rare. */
  async #with<T>(doing: string, work: (admin: Admin) => Promise<T>): Promise<T> {
    const { topic, brokers, security, connectTimeoutMs, timeoutMs } = this.#options;
    const kafka = new Kafka({
      brokers: [...brokers],
      clientId: CLIENT_ID,
      ...(await kafkajsSecurity(security)),
      connectionTimeout: connectTimeoutMs,
      requestTimeout: timeoutMs,
      logLevel: logLevel.NOTHING,
    });
    const admin = kafka.admin();
    try {
      await admin.connect();
      return await work(admin);
    } catch (error) {
      throw administrationError(doing, topic, error);
    } finally {
      await admin.disconnect().catch(() => {}); // the work's outcome is what counts
    }
  }
}

export const misfitText = ({ setting, found, wanted, why }: Misfit): string =>
  `${setting}=${found} (wanted: ${wanted}${why === undefined ? '' : `, ${why}`})`;

function misfitsOf(
  values: ReadonlyMap<string, string>,
  { kept }: TopicRules,
  replicationFactor: number,
): readonly Misfit[] {
  const misfits: Misfit[] = [];
  for (const [setting, wanted] of Object.entries(kept)) {
    const found = values.get(setting);
    if (found !== undefined && found !== wanted) misfits.push({ setting, found, wanted });
  }
  const inSync = values.get('min.insync.replicas');
  if (inSync !== undefined && Number(inSync) > replicationFactor) {
    const why = `since the topic has ${replicationFactor} replica(s): no append would be taken`;
    misfits.push({ setting: 'min.insync.replicas', found: inSync, wanted: String(replicationFactor), why });
  }
  const bytes = values.get('max.message.bytes');
  if (bytes !== undefined && Number(bytes) < BATCH_NEEDED_BYTES) {
    const why = 'or more: events would not fit';
    misfits.push({ setting: 'max.message.bytes', found: bytes, wanted: String(BATCH_NEEDED_BYTES), why });
  }
  return misfits;
}

const refusedTypes = new Set([
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'SASL_AUTHENTICATION_FAILED',
  'INVALID_TOPIC_EXCEPTION',
  'INVALID_PARTITIONS',
  'INVALID_REPLICATION_FACTOR',
  'INVALID_CONFIG',
  'POLICY_VIOLATION',
]);

function administrationError(doing: string, topic: string, error: unknown): ConfigError | UnavailableError {
  const message = `Kafka: ${doing} the topic "${topic}" failed: ${rootMessage(error)}`;
  const kafkaError = kafkaType(error);
  if (kafkaError !== undefined && refusedTypes.has(kafkaError)) {
    const code = kafkaError.includes('AUTH') ? 'log-unauthorized' : 'log-topic-refused';
    return new ConfigError(code, message, { topic, kafkaError, cause: error });
  }
  return new UnavailableError('log-unavailable', message, { topic, cause: error });
}
