/** Entry point of log-kafka: the checkpoint log on a Kafka topic, and the topic of wrapped keys. */

export type { KafkaKeyTopicOptions } from './kafka-key-topic.ts';
export { defaultLimits, type KafkaLogLimits } from './limits.ts';
export { type OAuthTokenOptions, oauthTokens } from './oauth-token.ts';
export { openKafkaKeyTopic, openKafkaLog } from './open.ts';
export type { KafkaTopicOptions } from './open-topic.ts';
export { type KafkaSasl, type KafkaSecurity, platformaticSecurity } from './security.ts';
