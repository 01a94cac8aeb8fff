/**
 * Owns the door by which a process that only asks reads words, limits and checks, and none of what does the work.
 */

export { CATCH_UP_MAX_COUNT } from './control/limits.ts';
export { checkMeant } from './definition/bulk-filter.ts';
export {
  BULK_ACTS,
  type BulkAct,
  CANCELLING,
  EFFECT_DONE_BEFORE,
  EFFECT_NOT_RECORDED,
  historyForgotten,
  OVERLAPS,
  PAUSED,
  SCHEDULE_SUFFIX,
  TASKS_DROPPED,
} from './kernel/names.ts';
export { SHADOW_OBSERVE_MS, SHADOW_SHARES, SHADOW_WORKFLOWS_MIN } from './shadow/shadow-limits.ts';
export { asShare } from './shadow/shadow-share.ts';
export { BEAT_TTL_MS } from './worker/limits.ts';
