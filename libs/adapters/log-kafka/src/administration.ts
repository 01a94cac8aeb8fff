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
  /** Further settings of a topic that is created here. */
  readonly made?: Readonly<Record<string, string>>;
}

/** Required of every topic: a replica that lacks acknowledged records must never lead. */
export const NO_UNCLEAN_LEADER = { 'unclean.leader.election.enable': 'false' } as const;

export const LOG_RULES: TopicRules = {
  kept: { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1', ...NO_UNCLEAN_LEADER },
};

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

  /** Reads the settings that matter. Throws `ConfigError` with code `log-topic-unsafe` when they would lose records. */
  async settings(): Promise<TopicSettings> {
    const { topic, rules } = this.#options;
    const values = await this.#with('reading the settings of', async (admin) => {
      const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic }];
      const described = await admin.describeConfigs({ includeSynonyms: false, resources });
      return new Map(
        described.resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]),
      );
    });
    for (const [name, value] of Object.entries(rules.kept)) {
      const found = values.get(name);
      if (found !== undefined && found !== value) {
        const message = `The Kafka topic "${topic}" has ${name}=${found} and would lose records; set it to ${value}.`;
        throw new ConfigError('log-topic-unsafe', message, { topic, setting: name, found, wanted: value });
      }
    }
    const batchMaxBytes = Number(values.get('max.message.bytes') ?? Number.POSITIVE_INFINITY);
    return { batchMaxBytes, minInSyncReplicas: Number(values.get('min.insync.replicas') ?? 1) };
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
