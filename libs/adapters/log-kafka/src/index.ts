/** Entry point of log-kafka: the checkpoint log on a Kafka topic, and the topic of wrapped keys. */

export { defaultLimits, type KafkaLogLimits } from './limits.ts';
export { type KafkaKeyTopicOptions, type KafkaTopicOptions, openKafkaKeyTopic, openKafkaLog } from './open.ts';
export type { KafkaSasl, KafkaSecurity } from './security.ts';
