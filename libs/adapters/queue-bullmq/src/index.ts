/** Entry point of @tidemark/queue-bullmq. */

export { type BullmqQueueOptions, openBullmqQueue } from './bullmq-queue.ts';
export { QUEUE_LIMITS, type QueueLimits } from './limits.ts';
export type { PresenceTls } from './presence-server.ts';
export { openRedisCalls, type RedisCallsOptions } from './redis-calls.ts';
export { openRedisHints, type RedisHintsOptions } from './redis-hints.ts';
export {
  openRedisLiveness,
  type PresenceOptions,
  type RedisLiveness,
  type RedisLivenessOptions,
} from './redis-liveness.ts';
export { openRedisWatch } from './redis-watch.ts';
