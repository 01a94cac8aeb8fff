/**
 * Owns schedules on the caller's side: set one, start a run of it now, read its state. A schedule is a workflow; see
 * schedule-definition.ts.
 */

import { canonicalJson, toJson } from '@tidemark/codec';
import {
  ConflictError,
  DEFAULT_TENANT,
  InvalidError,
  isoTime,
  type Json,
  type StreamStatus,
  slotId,
  type TenantId,
  tenantId,
  type WorkflowId,
  workflowId,
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
import {
  guardOf,
  type ListPlace,
  type Overlap,
  type Ports,
  pageOf,
  SCHEDULE_SUFFIX,
  type SecretPorts,
} from '../kernel/index.ts';
import type { WorkflowCalls } from './workflow-calls.ts';

/** Longest id of a schedule, in characters: ids of its runs add the slot's time. */
const SCHEDULE_ID_MAX_CHARS = 170;

export interface ScheduleOptions {
  /** Setting the same id again changes the schedule. Ids of its runs begin with it. */
  readonly id: string;
  /** Five fields (minute, hour, day, month, weekday), or six with seconds first. */
  readonly cron: string;
  /** IANA name; default `UTC`. */
  readonly timeZone?: string | undefined;
  /** What to do while an earlier run is live; default `skip`. */
  readonly overlap?: Overlap | undefined;
  /** How many missed slots to make up for, newest first; default 1. */
  readonly catchUp?: number | undefined;
  /** Field of the input that receives the slot's time (ISO 8601, UTC). */
  readonly slotField?: string | undefined;
  readonly tenant?: TenantId | undefined;
  /** User of the runs. */
  readonly user?: string | undefined;
}

export interface FireOptions {
  readonly atMs?: number | undefined;
}

/** The state of a schedule. Times in milliseconds since the Unix epoch. */
export interface ScheduleState extends Omit<ScheduleBelief, 'pastMs'> {
  /** Slots that did not start because another workflow has the id. */
  readonly takenCount: number;
  readonly id: string;
  readonly tenant: TenantId;
  /** Definition of the runs. */
  readonly definition: string;
  readonly status: StreamStatus;
  /** Such as `paused`. */
  readonly reason: string | null;
  /** The next slots, as many as requested. */
  readonly next: readonly number[];
}

export interface ScheduleQuery {
  readonly tenant?: TenantId | undefined;
  /** The page begins after this schedule. */
  readonly after?: ListPlace | undefined;
  readonly limit: number;
  readonly count: number;
}

const ENDING: ReadonlySet<string> = new Set(['workflow-closed', 'workflow-compensating']);

/** What a schedule needs of a client. */
export function scheduleHost(client: WorkflowCalls, clock: Clock): ScheduleHost {
  return {
    nowMs: () => clock.nowMs(),
    async start(definition, { id, tenant, user, input, trace, day }) {
      await client.startDerived(definition, input, {
        ...{ id, tenant: tenantId(tenant), trace, day },
        ...(user !== null && { user }),
      });
    },
    async wasBegun({ name }, { id, tenant, beforeMs }) {
      const row = await client.run(id).summary();
      return row?.definition === name && row.tenant === tenant && row.openedAtMs < beforeMs;
    },
    // A continued run is live, even if the next one has not begun yet.
    statusOf: async (workflow) => (await client.run(workflow).current())?.status,
    async end(workflow, how, by) {
      try {
        await client[how](workflow, { by, why: 'Its schedule begins the next run.' });
      } catch (error) {
        // It has ended by itself meanwhile, or it is being compensated and then ends.
        if (!(error instanceof ConflictError) || !ENDING.has(error.code)) throw error;
      }
    },
  };
}

/** A caller's requests about schedules. */
export class Schedules {
  readonly #client: WorkflowCalls;
  readonly #ports: Pick<Ports, 'clock' | 'store'> & SecretPorts;
  /** The newest moment that this named "now". */
  #firedMs = 0;

  constructor(client: WorkflowCalls, ports: Pick<Ports, 'clock' | 'store'> & SecretPorts) {
    this.#client = client;
    this.#ports = ports;
  }

  /**
   * Starts runs of the definition with this input at the times of a cron pattern; a schedule that has this id is changed. The schedule is a
   * workflow itself: pause, resume and cancel it as one. Throws `InvalidError` (`schedule-invalid` names the field; `schedule-secrets`; the
   * definition's errors about its input), `ConflictError` (`workflow-differs`: the id belongs to another workflow; `workflow-closed`: the
   * schedule was cancelled).
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
    const guard = guardOf(of.name, [of], this.#ports);
    guard.names('schedule', { id, user: spec.user });
    // Checks the input as a run will receive it, so that a mistake is reported now, and not at the first slot.
    checkSlotField(of, spec);
    const begun: ScheduleInput = { tenant, spec, fromMs: this.#ports.clock.nowMs() };
    const schedule = scheduleDefinition(of, scheduleHost(this.#client, this.#ports.clock));
    const { created } = await this.#client.start(schedule, begun, { id, tenant });
    // Whoever takes a signal doesn't know the definition of the runs, whose policy counts for a change as well.
    if (!created) await this.#client.signal(id, SCHEDULE_SIGNAL, { set: guard.take('input', 'schedule', spec) });
    return { created };
  }

  /**
   * Starts a run of the schedule, by its overlap policy, for this moment (when absent now, each call another), which names it: so it
   * counts once while that run is kept. Throws `InvalidError` (`schedule-unknown`: the workflow is none), and what `Client.signal` throws.
   */
  async fire(id: string, { atMs = this.#freeMs() }: FireOptions = {}): Promise<{ readonly run: WorkflowId }> {
    if (Number.isNaN(new Date(atMs).getTime())) {
      throw new InvalidError('schedule-invalid', `atMs: ${atMs} is no time.`, { field: 'atMs' });
    }
    const run = slotId(workflowId(id), isoTime(atMs));
    const row = await this.#client.run(id).summary();
    if (row !== undefined && !row.definition.endsWith(SCHEDULE_SUFFIX)) {
      throw new InvalidError('schedule-unknown', `${id} is not a schedule but a run of ${row.definition}.`, {
        workflow: id,
      });
    }
    await this.#client.signal(id, SCHEDULE_SIGNAL, { fire: atMs }, { key: `fire:${atMs}` });
    return { run };
  }

  /** Two runs of one millisecond need different moments. */
  #freeMs(): number {
    this.#firedMs = Math.max(this.#ports.clock.nowMs(), this.#firedMs + 1);
    return this.#firedMs;
  }

  /** Schedules, newest first, ended ones included, at most `limit`; each with its next `count` slots. */
  async list(query: ScheduleQuery): Promise<readonly ScheduleState[]> {
    return (await this.page(query)).schedules;
  }

  /** The same with the place of the next page; null: there is none. */
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

/** Differs from the epoch in year, month, day and minute, so whatever an input takes from the time differs. */
const OTHER_SLOT_MS = Date.UTC(2033, 4, 18, 3, 33, 20, 1);

/**
 * Throws `InvalidError` when the parsed input does not depend on the slot: the schema drops an unknown field, and all slots would start
 * alike.
 */
function checkSlotField(definition: Definition, spec: ScheduleSpec): void {
  definition.refuseUnknown?.(spec.input);
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
