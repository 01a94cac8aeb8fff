/**
 * Owns what Kafka's error codes mean for an append: certainly refused permanently, or not known to be stored. The second always makes the
 * appender send the same bytes again, whether the broker surely did not store them (no leader) or perhaps did (time-out): a second copy is
 * harmless (L4), a lost record is not (L2). Must not retry by itself.
 */

import { ConfigError, InvalidError, LimitError, type TidemarkError } from '@tidemark/core';

export type AppendAnswer =
  | { readonly kind: 'stored'; readonly baseOffset: number }
  /** Not stored, and never will be. */
  | { readonly kind: 'refused'; readonly error: TidemarkError }
  | {
      readonly kind: 'unknown';
      /** Another broker may lead the partition now. */
      readonly isStale: boolean;
      /** A clause for people. */
      readonly why: string;
    };

export const OFFSET_OUT_OF_RANGE = 1;
export const UNKNOWN_TOPIC = 3;
const LEADER_NOT_AVAILABLE = 5;
const NOT_LEADER = 6;
const MESSAGE_TOO_LARGE = 10;
const INVALID_TOPIC = 17;
const RECORD_LIST_TOO_LARGE = 18;
const TOPIC_AUTHORIZATION = 29;
const CLUSTER_AUTHORIZATION = 31;
const INVALID_TIMESTAMP = 32;
const UNSUPPORTED_VERSION = 35;
const INVALID_REQUEST = 42;
const POLICY_VIOLATION = 44;
const KAFKA_STORAGE_ERROR = 56;
const SASL_AUTHENTICATION = 58;
const FENCED_LEADER_EPOCH = 74;
const UNKNOWN_LEADER_EPOCH = 75;
const INVALID_RECORD = 87;

const staleCodes = new Set([
  UNKNOWN_TOPIC,
  LEADER_NOT_AVAILABLE,
  NOT_LEADER,
  KAFKA_STORAGE_ERROR,
  FENCED_LEADER_EPOCH,
  UNKNOWN_LEADER_EPOCH,
]);
const tooLargeCodes = new Set([MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE]);
const authorizationCodes = new Set([TOPIC_AUTHORIZATION, CLUSTER_AUTHORIZATION, SASL_AUTHENTICATION]);
const refusedCodes = new Set([
  INVALID_TOPIC,
  INVALID_TIMESTAMP,
  UNSUPPORTED_VERSION,
  INVALID_REQUEST,
  POLICY_VIOLATION,
  INVALID_RECORD,
]);

const isStaleCode = (code: number): boolean => staleCodes.has(code);
export const isAuthorizationCode = (code: number): boolean => authorizationCodes.has(code);

export const authorizationError = (topic: string, kafkaCode: number): ConfigError =>
  new ConfigError(
    'log-unauthorized',
    `Kafka does not let these credentials use the topic "${topic}" (code ${kafkaCode}).`,
    {
      topic,
      kafkaCode,
    },
  );

/** The broker's verdict on one batch of one partition. */
export function refusal(topic: string, partition: number, kafkaCode: number): TidemarkError | undefined {
  const details = { topic, partition, kafkaCode };
  if (tooLargeCodes.has(kafkaCode)) {
    return new LimitError(
      'append-too-large',
      `The broker finds an append to "${topic}" too large; see max.message.bytes.`,
      details,
    );
  }
  if (isAuthorizationCode(kafkaCode)) return authorizationError(topic, kafkaCode);
  if (refusedCodes.has(kafkaCode)) {
    return new InvalidError('append-refused', `Kafka refuses the append to "${topic}" (code ${kafkaCode}).`, details);
  }
  return undefined;
}

export function answerOf(topic: string, partition: number, kafkaCode: number, baseOffset: number): AppendAnswer {
  if (kafkaCode === 0) return { kind: 'stored', baseOffset };
  const error = refusal(topic, partition, kafkaCode);
  if (error !== undefined) return { kind: 'refused', error };
  return { kind: 'unknown', isStale: isStaleCode(kafkaCode), why: `Kafka answered with code ${kafkaCode}` };
}

/** The outcome is unknown after the connection was lost or the answer did not come. */
export const noAnswer = (why: string): AppendAnswer => ({ kind: 'unknown', isStale: true, why });
