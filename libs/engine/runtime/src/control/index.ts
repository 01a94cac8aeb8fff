/** The entry point of the room: what other rooms of the engine may use. */
export {
  BULK_DEFINITION,
  type BulkAnswer,
  type BulkHost,
  type BulkInput,
  type BulkProgress,
  bulkDefinition,
  isMeant,
} from './bulk-definition.ts';
export { BULK_PAGE_COUNT, QUEUES_HELD_MAX_COUNT, QUEUES_KNOWN_MS, QUEUES_PERIOD_MS } from './limits.ts';
export {
  HELD_PREFIX,
  type PausedQueue,
  PausedQueues,
  PausedRuns,
  type Queued,
  QueuePauses,
  type RunStop,
  workOf,
} from './paused-queues.ts';
export {
  SCHEDULE_SIGNAL,
  type ScheduleBelief,
  type ScheduleHost,
  type ScheduleInput,
  scheduleDefinition,
} from './schedule-definition.ts';
export { checkedSpec, inputAt, nextSlot, type ScheduleSpec } from './schedule-spec.ts';
