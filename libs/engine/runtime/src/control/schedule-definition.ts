/**
 * Owns the workflow that is a schedule: `{definition}~schedule`, which the workers of the definition run. It waits for its next slot or for
 * a signal, starts the runs that are due, and waits again. So schedules need no machinery of their own: they survive crashes, and are
 * listed, shown, paused and cancelled, as workflows.
 *
 * T1 The id of a slot's run derives from the slot, so every attempt starts the same run.
 * T2 The decision about a slot follows from belief and from the state of earlier runs; only then is the slot past.
 */

import { canonicalJson } from '@tidemark/codec';
import {
  ConflictError,
  InvalidError,
  isClosed,
  isoTime,
  type Json,
  LimitError,
  type StreamStatus,
  slotId,
  type TidemarkError,
  type WorkflowId,
} from '@tidemark/core';
import {
  type Definition,
  OWN_DEFINITION,
  ownStep,
  ParkError,
  type StepContext,
  type StepDefinition,
  type StepResult,
  type TaskRequest,
  unchangedUpcasters,
} from '../definition/index.ts';
import { SCHEDULE_SUFFIX } from '../kernel/index.ts';
import { checkedSpec, dueSlots, inputAt, nextSlot, type ScheduleSpec } from './schedule-spec.ts';
import { dayAt } from './wall-clock.ts';

/** A slot that starts within this many milliseconds is in time; later it counts as missed. */
const SCHEDULE_GRACE_MS = 60_000;
/** First and longest period, in milliseconds, of the poll for the end of the run that a slot waits for. */
const SCHEDULE_POLL_MIN_MS = 1_000;
const SCHEDULE_POLL_MAX_MS = 60_000;

/** The signal that changes a schedule, or starts a run of it now. */
export const SCHEDULE_SIGNAL = 'tidemark.schedule';

/** Input of a schedule. */
export interface ScheduleInput {
  readonly tenant: string;
  readonly spec: ScheduleSpec;
  /** The schedule's slots are those after this moment. */
  readonly fromMs: number;
}

/** The state of a schedule. Counts are over its life. */
export interface ScheduleBelief {
  readonly spec: ScheduleSpec;
  /** Slots up to here have been decided. */
  readonly pastMs: number;
  /** The newest run that it started. */
  readonly run: { readonly id: string; readonly slotMs: number } | null;
  /** The slot that waits for that run to end. */
  readonly heldMs: number | null;
  readonly startedCount: number;
  /** Slots skipped because another run was live, or because the system refused the start. */
  readonly skippedCount: number;
  /** Slots that did not start because another workflow has the id. Absent: none yet. */
  readonly takenCount?: number | undefined;
  /** Slots missed because no worker was there in time. */
  readonly missedCount: number;
}

/** What a schedule needs of the world outside itself. */
export interface ScheduleHost {
  nowMs(): number;
  /** Starts a run of the definition; harmless when it exists already. */
  start(
    definition: Definition,
    run: {
      readonly id: WorkflowId;
      readonly tenant: string;
      readonly user: string | null;
      readonly input: Json;
      /** The day of the slot in the schedule's time zone. */
      readonly day: string;
      /** `traceparent` of the schedule's step, to which the run's trace links. */
      readonly trace: string;
    },
  ): Promise<void>;
  /** Whether rows know such a run of the definition that began before this moment. */
  wasBegun(
    definition: Definition,
    run: { readonly id: WorkflowId; readonly tenant: string; readonly beforeMs: number },
  ): Promise<boolean>;
  /** Undefined: rows don't know it (yet). */
  statusOf(workflow: WorkflowId): Promise<StreamStatus | undefined>;
  end(workflow: WorkflowId, how: 'cancel' | 'terminate', by: string): Promise<void>;
}

export function scheduleDefinition(of: Definition, host: ScheduleHost): Definition {
  return {
    ...OWN_DEFINITION,
    name: `${of.name}${SCHEDULE_SUFFIX}`,
    version: of.version,
    ...(of.onSecret !== undefined && { onSecret: of.onSecret }),
    upcasters: unchangedUpcasters(of),
    begin: (input) => {
      const { spec, fromMs } = input as unknown as ScheduleInput;
      const belief: ScheduleBelief = {
        spec: checkedSpec(spec),
        ...{ pastMs: fromMs, run: null, heldMs: null, startedCount: 0, skippedCount: 0, missedCount: 0 },
      };
      return { belief, next: slotTasks(belief) };
    },
    steps: new Map([
      ['slot', step('slot', (ctx) => slot({ of, host, ctx }))],
      ['held', step('held', (ctx, input) => held({ of, host, ctx }, input as unknown as HeldInput))],
    ]),
  };
}

const step = (name: string, run: (ctx: StepContext, input: Json) => Promise<StepResult>): StepDefinition =>
  ownStep(name, ['slot', 'held'], { attempts: 20 }, (ctx, input) => parkWhenStuck(() => run(ctx, input)));

/** The task that waits for the next slot or a signal; for a signal alone when there are no more slots. */
function slotTasks({ spec, pastMs }: ScheduleBelief): TaskRequest[] {
  const atMs = nextSlot(spec, pastMs);
  const said = { kind: 'signal', name: SCHEDULE_SIGNAL } as const;
  const anyOf = atMs === null ? [said] : [{ kind: 'at', atMs } as const, said];
  return [{ step: 'slot', input: null, when: { anyOf } }];
}

const beliefOf = (ctx: StepContext): ScheduleBelief => ctx.belief as unknown as ScheduleBelief;

/** One that decides slots. */
interface SlotAttempt extends Attempt {
  /** Of the first attempt. */
  readonly nowMs: number;
}

/** One attempt at a step of a schedule. */
interface Attempt {
  /** Definition of the runs. */
  readonly of: Definition;
  readonly host: ScheduleHost;
  readonly ctx: StepContext;
}

async function slot(attempt: Attempt): Promise<StepResult> {
  const { ctx, host } = attempt;
  const nowMs = (await ctx.run('now', () => host.nowMs())) as number;
  const turn = { ...attempt, nowMs };
  const before = beliefOf(ctx);
  const wasHeld = before.heldMs !== null;
  // A coordinator's clock fired the slot, and this worker's clock may be behind it.
  const dueMs = Math.max(nowMs, nextSlot(before.spec, before.pastMs) ?? nowMs);
  const after = ctx.cause?.kind === 'signal' ? await hear(turn, before) : await begin(turn, before, dueMs);
  const isHeld = after.heldMs !== null;
  return {
    belief: () => after,
    next: [...slotTasks(after), ...(isHeld && !wasHeld ? [heldTask(SCHEDULE_POLL_MIN_MS)] : [])],
    lastAction: wordsOf(before, after),
  };
}

async function hear(turn: SlotAttempt, belief: ScheduleBelief): Promise<ScheduleBelief> {
  const { ctx, nowMs } = turn;
  const set = setBy(ctx);
  if (set === undefined) {
    const fired = saidBy(ctx)?.fire;
    // A moment names one run, however often it is asked for. Signals of before name none.
    const firedMs = typeof fired === 'number' ? fired : nowMs;
    return [belief.run?.slotMs, belief.heldMs].includes(firedMs) ? belief : fire(turn, belief, firedMs);
  }
  const spec = checkedSpec(set);
  if (canonicalJson(asJson(spec)) === canonicalJson(asJson(belief.spec))) return belief;
  // Slots that are due by the old pattern still start.
  const due = await begin(turn, belief, Math.max(nowMs, belief.pastMs));
  return { ...due, spec };
}

type Said = { readonly set?: unknown; readonly fire?: unknown } | null;

const saidBy = ({ cause }: StepContext): Said => (cause?.kind === 'signal' ? (cause.value as unknown as Said) : null);

/** The new spec of the signal; undefined: the signal does not change it. */
const setBy = (ctx: StepContext): unknown => saidBy(ctx)?.set;

const asJson = (spec: ScheduleSpec): Json => spec as unknown as Json;

/** Starts the runs that are due by that moment. */
async function begin(turn: SlotAttempt, belief: ScheduleBelief, untilMs: number): Promise<ScheduleBelief> {
  const { slots, missedCount } = dueSlots(belief.spec, { afterMs: belief.pastMs, untilMs, graceMs: SCHEDULE_GRACE_MS });
  let after: ScheduleBelief = { ...belief, pastMs: untilMs, missedCount: belief.missedCount + missedCount };
  for (const slotMs of slots) after = await fire(turn, after, slotMs);
  return after;
}

/** Decides one slot by the overlap policy (T2). */
async function fire(turn: SlotAttempt, belief: ScheduleBelief, slotMs: number): Promise<ScheduleBelief> {
  const { spec, run } = belief;
  const { host, ctx, of, nowMs } = turn;
  const { tenant } = ctx.input as unknown as ScheduleInput;
  // An earlier step began it, by hand or as a slot. What this step began before it crashed still counts.
  const id = slotId(ctx.workflow, isoTime(slotMs));
  if (await host.wasBegun(of, { id, tenant, beforeMs: nowMs })) return belief;
  if (spec.overlap === 'allow' || run === null || !(await isLive(host, run.id))) return start(turn, belief, slotMs);
  switch (spec.overlap) {
    case 'skip':
      return { ...belief, skippedCount: belief.skippedCount + 1 };
    case 'queue':
      return hold(belief, slotMs);
    case 'cancel':
      await host.end(run.id as WorkflowId, 'cancel', ctx.workflow);
      return hold(belief, slotMs);
    case 'terminate':
      await host.end(run.id as WorkflowId, 'terminate', ctx.workflow);
      // A run that is being compensated can't be terminated.
      return (await isLive(host, run.id)) ? hold(belief, slotMs) : start(turn, belief, slotMs);
  }
}

const hold = (belief: ScheduleBelief, slotMs: number): ScheduleBelief =>
  belief.heldMs === null ? { ...belief, heldMs: slotMs } : { ...belief, skippedCount: belief.skippedCount + 1 };

/** A started run that isn't in rows yet counts as live. */
async function isLive(host: ScheduleHost, id: string): Promise<boolean> {
  const status = await host.statusOf(id as WorkflowId);
  return status === undefined || !isClosed({ status });
}

/** A start that is refused is logged, and the next slot is tried as usual. */
async function start({ of, host, ctx }: Attempt, belief: ScheduleBelief, slotMs: number): Promise<ScheduleBelief> {
  const at = isoTime(slotMs);
  const { tenant } = ctx.input as unknown as ScheduleInput;
  const { spec } = belief;
  const id = slotId(ctx.workflow, at);
  // A person started a run at exactly this moment.
  if (belief.run?.id === id) return belief;
  try {
    const input = inputAt(spec, slotMs);
    const day = dayAt(spec.timeZone, slotMs);
    await host.start(of, { id, tenant, user: spec.user, input, day, trace: ctx.traceparent });
  } catch (error) {
    if (isTaken(error)) {
      ctx.log('taken', { slot: at, workflow: id });
      return { ...belief, takenCount: (belief.takenCount ?? 0) + 1 };
    }
    if (!isSkipped(error, ctx)) throw error;
    ctx.log('skipped', { slot: at, code: error.code });
    return { ...belief, skippedCount: belief.skippedCount + 1 };
  }
  ctx.log('started', { slot: at, workflow: id });
  return { ...belief, run: { id, slotMs }, startedCount: belief.startedCount + 1 };
}

/** Whether another workflow has the id: a retry would not help, but later slots have other ids. */
const isTaken = (error: unknown): boolean => error instanceof ConflictError && error.code === 'workflow-differs';

/** Whether only this run is impossible: the system refuses further starts, or the input is just being changed. */
const isSkipped = (error: unknown, ctx: StepContext): error is TidemarkError =>
  error instanceof LimitError || (error instanceof InvalidError && setBy(ctx) !== undefined);

interface HeldInput {
  /** How long it waited before this poll. */
  readonly pollMs: number;
}

const heldTask = (pollMs: number): TaskRequest => ({
  step: 'held',
  input: { pollMs } satisfies HeldInput,
  when: { anyOf: [{ kind: 'timer', delayMs: pollMs }] },
});

/** Polls whether the run that a slot waits for has ended; ever more rarely. */
async function held(turn: Attempt, { pollMs }: HeldInput): Promise<StepResult> {
  const { host, ctx } = turn;
  const before = beliefOf(ctx);
  const { heldMs, run } = before;
  if (heldMs === null) return { lastAction: 'nothing waits any more' };
  if (run !== null && (await isLive(host, run.id))) {
    return {
      next: [heldTask(Math.min(pollMs * 2, SCHEDULE_POLL_MAX_MS))],
      lastAction: `waits for the end of ${run.id}`,
    };
  }
  const after = await start(turn, { ...before, heldMs: null }, heldMs);
  return { belief: () => after, lastAction: wordsOf(before, after) };
}

function wordsOf(before: ScheduleBelief, after: ScheduleBelief): string {
  const words = [
    [after.startedCount - before.startedCount, 'started'],
    [after.skippedCount - before.skippedCount, 'skipped'],
    [(after.takenCount ?? 0) - (before.takenCount ?? 0), "not begun: the id is another workflow's"],
    [after.missedCount - before.missedCount, 'missed'],
    [after.heldMs !== null && before.heldMs === null ? 1 : 0, 'waiting'],
  ] as const;
  const said = words.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []));
  return said.length > 0 ? said.join(', ') : 'changed';
}

/** A failure that no retry can repair (the definition no longer accepts the input) goes to a person. */
async function parkWhenStuck<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    throw new ParkError('schedule-stuck', `The schedule is stuck: ${error.message}`, null, { code: error.code });
  }
}
