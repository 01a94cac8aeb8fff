/** Entry point of log-kafka: the checkpoint log on a Kafka topic, and the topic of wrapped keys. */

export { defaultLimits, type KafkaLogLimits } from './limits.ts';
export { type KafkaLogOptions, openKafkaLog } from './open-kafka-log.ts';
export { type KafkaKeyTopicOptions, openKafkaKeyTopic } from './open-key-topic.ts';
export type { KafkaSasl, KafkaSecurity } from './security.ts';
