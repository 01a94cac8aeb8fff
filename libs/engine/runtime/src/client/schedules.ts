/** Owns schedules from the caller's side: set one, have it begin a run now, say how it stands. A schedule is a workflow; see schedule-definition.ts. */

import { canonicalJson, toJson } from '@tidemark/codec';
import {
  ConflictError,
  DEFAULT_TENANT,
  InvalidError,
  type Json,
  type StreamStatus,
  type TenantId,
  tenantId,
} from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import {
  checkedSpec,
  inputAt,
  nextSlot,
  SCHEDULE_SIGNAL,
  type ScheduleBelief,
  type ScheduleHost,
  type ScheduleInput,
  type ScheduleSpec,
  scheduleDefinition,
} from '../control/index.ts';
import type { Definition } from '../definition/index.ts';
import { type WorkflowContents, withContents } from '../history/index.ts';
import { type ListPlace, type Overlap, type Ports, pageOf, SCHEDULE_SUFFIX } from '../kernel/index.ts';
import { SCHEDULE_ID_MAX_CHARS } from './limits.ts';
import type { WorkflowCalls } from './workflow-calls.ts';

export interface ScheduleOptions {
  /** The same id is the same schedule: set again, it is changed. Also begins the ids of its runs. */
  readonly id: string;
  /** Five fields (minute, hour, day, month, weekday), or six with seconds first. */
  readonly cron: string;
  /** IANA name; default `UTC`. */
  readonly timeZone?: string | undefined;
  /** While an earlier run is live; default `skip`. */
  readonly overlap?: Overlap | undefined;
  /** Missed slots that are made up for, the newest ones; default 1. */
  readonly catchUp?: number | undefined;
  /** Field of the input that is given the slot's time (ISO 8601, UTC). */
  readonly slotField?: string | undefined;
  readonly tenant?: TenantId | undefined;
  /** Whose runs they are. */
  readonly user?: string | undefined;
}

/** How a schedule stands. Times in milliseconds since the Unix epoch. */
export interface ScheduleState extends Omit<ScheduleBelief, 'pastMs'> {
  /** Slots that didn't begin, for their ids are other workflows'. */
  readonly takenCount: number;
  readonly id: string;
  readonly tenant: TenantId;
  /** Whose runs it starts. */
  readonly definition: string;
  readonly status: StreamStatus;
  /** Such as `paused`. */
  readonly reason: string | null;
  /** The slots to come, at most so many as asked for. */
  readonly next: readonly number[];
}

export interface ScheduleQuery {
  readonly tenant?: TenantId | undefined;
  /** Goes on after this one. */
  readonly after?: ListPlace | undefined;
  readonly limit: number;
  readonly count: number;
}

const ENDING: ReadonlySet<string> = new Set(['workflow-closed', 'workflow-compensating']);

/** What a caller's client gives a schedule to work with. */
export function scheduleHost(client: WorkflowCalls, clock: Clock): ScheduleHost {
  return {
    nowMs: () => clock.nowMs(),
    async start(definition, { id, tenant, user, input, trace }) {
      await client.start(definition, input, { id, tenant: tenantId(tenant), trace, ...(user !== null && { user }) });
    },
    // One that goes on with a fresh history is live, though the next may be yet to begin.
    statusOf: async (workflow) => (await client.run(workflow).current())?.status,
    async end(workflow, how, by) {
      try {
        await client[how](workflow, { by, why: 'Its schedule begins the next run.' });
      } catch (error) {
        // It has ended by itself meanwhile, or is being undone: then it ends.
        if (!(error instanceof ConflictError) || !ENDING.has(error.code)) throw error;
      }
    },
  };
}

/** What callers do with schedules. */
export class Schedules {
  readonly #client: WorkflowCalls;
  readonly #ports: Pick<Ports, 'clock' | 'store'>;

  constructor(client: WorkflowCalls, ports: Pick<Ports, 'clock' | 'store'>) {
    this.#client = client;
    this.#ports = ports;
  }

  /**
   * Starts runs of the definition with this input at the times of a cron pattern; a schedule that has this id is changed. It is a workflow
   * itself: pause, resume and cancel it as one. Throws `InvalidError` (`schedule-invalid` names the field; `schedule-secrets`; the
   * definition's of its input), `ConflictError` (`workflow-differs`: the id is another's; `workflow-closed`: it was cancelled).
   */
  async set<Input>(
    definition: Definition<Input, never> | Definition<Input, unknown>,
    input: NoInfer<Input> | Json,
    { id, tenant = DEFAULT_TENANT, ...options }: ScheduleOptions,
  ): Promise<{ readonly created: boolean }> {
    const of = definition as Definition;
    refuseSecrets(of);
    if (id.length > SCHEDULE_ID_MAX_CHARS) {
      const message = `id: at most ${SCHEDULE_ID_MAX_CHARS} characters, since those of its runs are longer.`;
      throw new InvalidError('schedule-invalid', message, { field: 'id' });
    }
    const spec = checkedSpec({ ...options, input: toJson(input, 'input of the schedule') });
    // As a run will be given it: what doesn't fit is said now, and not at night.
    checkSlotField(of, spec);
    const begun: ScheduleInput = { tenant, spec, fromMs: this.#ports.clock.nowMs() };
    const schedule = scheduleDefinition(of, scheduleHost(this.#client, this.#ports.clock));
    const { created } = await this.#client.start(schedule, begun, { id, tenant });
    if (!created) await this.#client.signal(id, SCHEDULE_SIGNAL, { set: spec });
    return { created };
  }

  /**
   * Has a schedule begin a run now, by its overlap policy; with a `key` once. Throws `InvalidError` (`schedule-unknown`: the workflow is none),
   * and as `Client.signal` does.
   */
  async fire(id: string, options: { readonly key?: string | undefined } = {}): Promise<void> {
    const row = await this.#client.run(id).summary();
    if (row !== undefined && !row.definition.endsWith(SCHEDULE_SUFFIX)) {
      throw new InvalidError('schedule-unknown', `${id} is no schedule, but a run of ${row.definition}.`, {
        workflow: id,
      });
    }
    return this.#client.signal(id, SCHEDULE_SIGNAL, { fire: true }, options);
  }

  /** The newest, at most `limit`, those that have ended among them; of each as many slots to come as `count` says. */
  async list(query: ScheduleQuery): Promise<readonly ScheduleState[]> {
    return (await this.page(query)).schedules;
  }

  /** The same, and where the next page goes on; null: there is none. */
  async page({ tenant, limit, after, count }: ScheduleQuery): Promise<{
    readonly schedules: readonly ScheduleState[];
    readonly next: ListPlace | null;
  }> {
    const { store } = this.#ports;
    const { rows, next } = await pageOf(store, { schedules: true, tenant, after, limit });
    const schedules = (await withContents(store, rows)).map((one) => stateOf(one, count));
    return { schedules, next };
  }
}

/** Of another year, month, day and minute than the first moment: whatever an input takes of a time differs. */
const OTHER_SLOT_MS = Date.UTC(2033, 4, 18, 3, 33, 20, 1);

/** Throws `InvalidError`. A field that the input doesn't have is left out of it: the runs of all slots would begin alike. */
function checkSlotField(definition: Definition, spec: ScheduleSpec): void {
  const [one, other] = [0, OTHER_SLOT_MS].map((atMs) => canonicalJson(definition.parseInput(inputAt(spec, atMs))));
  if (spec.slotField === null || one !== other) return;
  const message = `slotField: the input of ${definition.name} has no field '${spec.slotField.slice(0, 100)}'. Name one that it has, or leave it out.`;
  throw new InvalidError('schedule-invalid', message, { field: 'slotField' });
}

function refuseSecrets({ name, hasSecrets }: Definition): void {
  if (hasSecrets !== true) return;
  const message = `${name} has secret fields, and a schedule keeps its input readable. Let the runs fetch what is secret.`;
  throw new InvalidError('schedule-secrets', message, { definition: name });
}

function stateOf({ row, content }: WorkflowContents, count: number): ScheduleState {
  const { pastMs, ...belief } = content.belief as unknown as ScheduleBelief;
  return {
    ...{ id: row.workflow, tenant: row.tenant, status: row.status, reason: row.reason },
    definition: row.definition.slice(0, -SCHEDULE_SUFFIX.length),
    ...belief,
    takenCount: belief.takenCount ?? 0,
    next: row.closedInGeneration === null ? slotsAfter(belief.spec, pastMs, count) : [],
  };
}

function slotsAfter(spec: ScheduleSpec, afterMs: number, count: number): number[] {
  const slots: number[] = [];
  for (let at = nextSlot(spec, afterMs); at !== null && slots.length < count; at = nextSlot(spec, at)) slots.push(at);
  return slots;
}
