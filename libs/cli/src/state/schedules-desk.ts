/** Owns what commands do with schedules, as flat calls with plain data, so that they cross a socket unchanged. */

import { type Json, tenantId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { Definition, ScheduleOptions, ScheduleState } from '@tidemark/runtime';
import { pick } from './definitions.ts';

export interface SetScheduleCall extends Omit<ScheduleOptions, 'tenant'> {
  readonly definition: string;
  readonly input: Json;
  readonly tenant?: string | undefined;
}

export interface ListSchedulesCall {
  readonly tenant?: string | undefined;
  readonly limit: number;
  readonly count: number;
}

export interface CommandSchedules {
  /** Throws as `Schedules.set` does. */
  set(call: SetScheduleCall): Promise<{ readonly created: boolean }>;
  /** Throws as `Client.signal` does. */
  fire(id: string): Promise<void>;
  list(call: ListSchedulesCall): Promise<readonly ScheduleState[]>;
}

/** Names of the calls, as a socket passes them on. */
export const SCHEDULE_CALLS = ['set', 'fire', 'list'] as const satisfies readonly (keyof CommandSchedules)[];

export function hostSchedules({ client }: Host, definitions: readonly Definition[], where: string): CommandSchedules {
  const of = (tenant: string | undefined) => (tenant === undefined ? undefined : tenantId(tenant));
  return {
    set: async ({ definition, input, tenant, ...options }) =>
      client.schedules.set(pick(definitions, definition, where), input, { ...options, tenant: of(tenant) }),
    fire: (id) => client.schedules.fire(id),
    list: ({ tenant, ...query }) => client.schedules.list({ ...query, tenant: of(tenant) }),
  };
}
