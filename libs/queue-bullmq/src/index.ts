/** The door of @tidemark/queue-bullmq. */

export { type BullmqQueueOptions, openBullmqQueue } from './bullmq-queue.ts';
export { QUEUE_LIMITS, type QueueLimits } from './limits.ts';
