/** Owns how a schedule is shown. */

import { isoTime } from '@tidemark/core';
import type { ScheduleState } from '@tidemark/runtime';

export const scheduleJson = (schedule: ScheduleState) => ({
  schedule: schedule.id,
  tenant: schedule.tenant,
  definition: schedule.definition,
  status: schedule.status,
  reason: schedule.reason,
  cron: schedule.spec.cron,
  time_zone: schedule.spec.timeZone,
  overlap: schedule.spec.overlap,
  catch_up: schedule.spec.catchUp,
  input: schedule.spec.input,
  last_run: schedule.run?.id ?? null,
  waiting_slot: schedule.heldMs === null ? null : isoTime(schedule.heldMs),
  started_count: schedule.startedCount,
  skipped_count: schedule.skippedCount,
  taken_count: schedule.takenCount,
  missed_count: schedule.missedCount,
  next: schedule.next.map(isoTime),
});
