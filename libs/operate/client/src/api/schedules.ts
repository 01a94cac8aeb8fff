/** Owns the types of the API's chapter "Schedules". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';

export interface SchedulesEndpoints {
  /** List schedules, newest first */
  readonly 'GET /v1/schedules': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** `false`: without content, also for callers who may see it; nothing is written to the audit then. For polling. */
            readonly content?: 'true' | 'false' | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: Schedules;
  };
  /** Make a schedule, or change the one of this id */
  readonly 'PUT /v1/schedules/{schedule}': {
    readonly input: { readonly body: SetSchedule };
    readonly answer: ScheduleSet;
  };
  /** Have a schedule begin a run now */
  readonly 'POST /v1/schedules/{schedule}/fire': {
    readonly input: { readonly body?: Fire | undefined };
    readonly answer: Fired;
  };
}

export interface Schedules {
  readonly schedules: readonly Schedule[];
  /** Null: this is the last page. */
  readonly next_cursor: string | null;
}

export interface Schedule {
  readonly schedule: string;
  readonly tenant: string;
  readonly definition: string;
  readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
  /** Such as `paused`. */
  readonly reason: string | null;
  readonly cron: string;
  readonly time_zone: string;
  readonly overlap: 'skip' | 'queue' | 'cancel' | 'terminate' | 'allow';
  readonly catch_up: number;
  readonly input?: Json | undefined;
  /** Id of the newest run that it started. */
  readonly last_run: string | null;
  /** The slot that waits for the end of that run. */
  readonly waiting_slot: string | null;
  readonly started_count: number;
  readonly skipped_count: number;
  /** Slots that didn't begin, for their ids are other workflows'. */
  readonly taken_count: number;
  readonly missed_count: number;
  /** The slots to come. */
  readonly next: readonly string[];
}

export interface SetSchedule {
  /** Name of a definition that this process has loaded. */
  readonly definition: string;
  /** Any JSON value; by default `{}`. */
  readonly input?: unknown;
  /** Minute, hour, day, month, weekday, such as '0 9 * * 1-5'; with six fields the first are seconds. */
  readonly cron: string;
  /** IANA name, such as `Europe/Berlin`; by default `UTC`. */
  readonly time_zone?: string | undefined;
  /** While an earlier run is live; by default `skip`. */
  readonly overlap?: 'skip' | 'queue' | 'cancel' | 'terminate' | 'allow' | undefined;
  /** Missed slots that are made up for; by default 1. */
  readonly catch_up?: number | undefined;
  /** Field of the input that is given the slot's time. */
  readonly slot_field?: string | undefined;
  /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
  readonly tenant?: string | undefined;
  /** Whose runs they are. */
  readonly user?: string | undefined;
}

export interface ScheduleSet {
  readonly schedule: string;
  readonly created: boolean;
}

export interface Fire {
  readonly key?: string | undefined;
}

export interface Fired {
  readonly schedule: string;
}
