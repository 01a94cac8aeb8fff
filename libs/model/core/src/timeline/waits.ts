/**
 * Owns why a workflow does not move: what it waits for, since when, what would end that, and whether anything that could is there. The only
 * place that says so, for every entry point. Pure. Instants in texts are ISO 8601, which an entry point writes as its reader does.
 */

import { BUDGET_EXCEEDED } from '../fold-inbox.ts';
import { type Blocked, blockedOn, isUnblocked } from '../frontier.ts';
import type { HolderId, TaskId, WorkflowId } from '../ids.ts';
import { runsAlone } from '../recovery.ts';
import { isClosed, type StreamState, type TaskState } from '../state.ts';
import { isoTime } from '../time.ts';

/** A due timer that has not fired for so long, in milliseconds, has nobody who fires it. */
export const LATE_TIMER_MS = 10_000;
/** Names in one text: of tasks, builds and versions. */
const NAMED_MAX_COUNT = 4;

export const WAIT_KINDS = [
  ...(['running', 'probe', 'lease', 'worker', 'suspect', 'limit', 'no-process', 'no-worker', 'no-version'] as const),
  ...([
    'no-build',
    'paused',
    'paused-queue',
    'provider',
    'retry',
    'timer',
    'late-timer',
    'signal',
    'approval',
  ] as const),
  ...(['child', 'tasks', 'confirmation', 'person', 'budget', 'compensation', 'record', 'observed'] as const),
];
export type WaitKind = (typeof WAIT_KINDS)[number];

export interface Wait {
  readonly kind: WaitKind;
  /** `waits for openai gpt-5: 429 until 2026-03-01T10:04:00.000Z`. */
  readonly text: string;
  /** Null: it is not known. */
  readonly sinceMs: number | null;
  /** When it ends by itself, or is tried again. */
  readonly untilMs: number | null;
  /** What would end it, in words. */
  readonly endsBy: string;
  /** Whether that, or anything else that could end it, is there; null: it comes from outside, or is not known here. */
  readonly isThere: boolean | null;
}

/** What work a worker must be able to do. */
export type Work = Pick<StreamState, 'definition' | 'version' | 'pinned'>;

/** What is there, as far as it is known. */
export interface There {
  readonly nowMs: number;
  /** No process runs workflows where the rows are. */
  readonly isIdle: boolean;
  /** The living workers; undefined: that is not known now. */
  readonly workers: Pick<ReadonlySet<HolderId>, 'has' | 'size'> | undefined;
  /** The builds of the workers that take such work; undefined for one whose build is unknown. */
  builds(work: Work): readonly (string | undefined)[];
  /** How many workers run which own version of the definition. */
  versions(definition: string): ReadonlyMap<number, number>;
  /** The pause of its queue. */
  paused(of: Pick<StreamState, 'definition' | 'tenant'>): { readonly by: string; readonly sinceMs: number } | undefined;
  /** The key of the limit that leaves no room for it; empty: it may not be shown. */
  limit(workflow: WorkflowId): string | undefined;
  /** For how long after its intention a call may begin, in milliseconds. */
  readonly callWindowMs: number;
}

export type Waiting = Omit<StreamState, 'frontier'>;

const wait = (kind: WaitKind, text: string, endsBy: string, rest: Partial<Wait> = {}): Wait => ({
  ...{ kind, text, endsBy, sinceMs: null, untilMs: null, isThere: null },
  ...rest,
});

/** Null: it has ended. `tasks`: its first pending tasks, in order. */
export function waitOf(stream: Waiting, tasks: readonly TaskState[], there: There): Wait | null {
  if (isClosed(stream)) return null;
  const { updatedAtMs: sinceMs, question, paused, unreadable } = stream;
  if (stream.shadow) return wait('observed', 'its agent runs elsewhere, and reports what it does', 'its agent');
  if (unreadable?.problem !== undefined)
    return wait('record', `waits for a person: ${unreadable.problem}`, 'skip or take, of its record', { sinceMs });
  if (unreadable !== null) {
    const { type, v } = unreadable;
    const text = `no coordinator reads ${type} v${v}, which a newer release wrote`;
    return wait('record', text, 'a coordinator of that release', { sinceMs, isThere: false });
  }
  if (stream.status === 'compensating')
    return wait('compensation', `is compensated by ${stream.undo}`, 'the end of that', { sinceMs });
  if (question?.code === BUDGET_EXCEEDED)
    return wait('budget', 'waits for room in its budget', 'a higher budget, or its next period', { sinceMs });
  if (question !== null)
    return wait('person', `waits for a person: ${question.code}`, 'an answer to its question', { sinceMs });
  if (stream.lease !== null && !there.isIdle) return leased(stream, stream.lease, tasks, there);
  if (paused !== undefined) return wait('paused', `paused by ${paused.by}`, 'resuming it', { sinceMs: paused.atMs });
  if (stream.ruling !== null || stream.lease !== null || tasks.some(isUnblocked)) return ready(stream, there);
  return blocked(stream, tasks, there);
}

function leased(
  { isUnsettled, updatedAtMs: sinceMs }: Waiting,
  { holder, ordinal }: NonNullable<StreamState['lease']>,
  tasks: readonly TaskState[],
  { workers, nowMs, callWindowMs }: There,
): Wait {
  if (workers?.has(holder) === false) {
    return wait('lease', `its worker ${holder} is gone`, 'a coordinator, which revokes its lease', {
      sinceMs,
      isThere: true,
    });
  }
  const task = tasks.find(isUnblocked);
  const open = task?.effects.find(({ status, kind }) => status === 'intended' && kind === 'irreversible');
  // Nothing was written since the claim: the holder still asks what became of the call.
  if (isUnsettled && open !== undefined && ordinal === 1) {
    const untilMs = sinceMs + callWindowMs + open.timeoutMs;
    const text = `asking the probe of ${open.operation}`;
    const again = untilMs > nowMs ? `; may call again at ${isoTime(untilMs)}` : '';
    return wait('probe', `${text}${again}`, 'its answer', { sinceMs, untilMs, isThere: true });
  }
  const step = task === undefined ? '' : ` ${task.step}`;
  return wait('running', `running${step} on ${holder}`, 'its step', { sinceMs, isThere: true });
}

const count = (of: number, what: string, verb: string): string =>
  `${of} ${of === 1 ? `${what} ${verb}s` : `${what}s ${verb}`}`;

const named = (names: readonly string[]): string =>
  `${names.slice(0, NAMED_MAX_COUNT).join(', ')}${names.length > NAMED_MAX_COUNT ? ` and ${names.length - NAMED_MAX_COUNT} more` : ''}`;

/** Why no worker could take such work, however long it waits; undefined: one could, or that is not known. */
export function unserved(
  work: Work & Pick<StreamState, 'failedOn'>,
  there: Pick<There, 'isIdle' | 'workers' | 'builds' | 'versions'>,
): Wait | undefined {
  const { definition, version, pinned, failedOn } = work;
  const isThere = false;
  if (there.isIdle) return wait('no-process', 'no process runs workflows here', 'starting one', { isThere });
  if (there.workers === undefined) return undefined;
  if (there.workers.size === 0) return wait('no-worker', 'no worker is running', 'starting one', { isThere });
  const builds = there.builds(work);
  if (builds.length === 0) {
    const others = [...there.versions(definition)].sort(([a], [b]) => b - a);
    const run = others.map(([other, of]) => `${count(of, 'worker', 'run')} v${other}`);
    const instead = run.length === 0 ? '' : ` (${named(run)})`;
    const what = `${definition} v${version}${pinned ? ', to which it is pinned' : ''}`;
    return wait('no-version', `no worker runs ${what}${instead}`, `a worker of ${definition} v${version}`, { isThere });
  }
  if (failedOn?.next === undefined || builds.some((build) => build === undefined || !failedOn.builds.includes(build)))
    return undefined;
  const text = `waits for build ${failedOn.next}: task ${failedOn.task} failed on ${named(failedOn.builds)}`;
  return wait('no-build', text, `a worker of any build but ${named(failedOn.builds)}`, { isThere });
}

function ready(stream: Waiting, there: There): Wait {
  const { definition, tenant, workflow, updatedAtMs: sinceMs, besideMax } = stream;
  const queue = there.paused({ definition, tenant });
  if (queue !== undefined)
    return wait('paused-queue', `its queue is paused by ${queue.by}`, 'resuming the queue', { sinceMs: queue.sinceMs });
  const none = unserved(stream, there);
  if (none !== undefined) return { ...none, sinceMs };
  const isThere = there.workers === undefined ? null : true;
  const limit = there.limit(workflow);
  if (limit !== undefined)
    return wait('limit', `waits for room in its limit ${limit}`.trimEnd(), 'the end of others of that limit', {
      sinceMs,
      isThere,
    });
  if (besideMax != null || stream.crashCount > 0) {
    const how = runsAlone(stream) ? 'alone' : `beside at most ${besideMax} others`;
    return wait('suspect', `suspect of a crash, runs ${how} next`, 'a worker with room for that', { sinceMs, isThere });
  }
  return wait('worker', 'waits for its turn at a worker', 'a worker that has room', { sinceMs, isThere });
}

const ALTERNATIVES: readonly Blocked['on'][] = ['signal', 'timer', 'approval', 'child'];
const isAlternative = ({ on }: Blocked): boolean => ALTERNATIVES.includes(on);
const isOnTasks = ({ on }: Blocked): boolean => on === 'tasks' || on === 'all-earlier';
/** The names of steps, by the ids of their tasks. */
export type StepNames = ReadonlyMap<TaskId, string>;

/** What keeps a task from running: everything that is needed, and the alternatives of which one is enough. Empty: it may run. */
export function blockedWords(task: TaskState, steps: StepNames): string {
  const all = blockedOn(task);
  const needed = all.filter((each) => !isAlternative(each)).map((each) => onWords(task, each, steps));
  const either = all.filter(isAlternative).map((each) => onWords(task, each, steps));
  return [...needed, ...(either.length === 0 ? [] : [`waits ${either.join(' or ')}`])].join(', and ');
}

function onWords(task: TaskState, blocked: Blocked, steps: StepNames): string {
  switch (blocked.on) {
    case 'tasks': {
      const tasks = blocked.tasks.map((id) => (steps.has(id) ? `${id} (${steps.get(id)})` : id));
      return `runs after ${named(tasks)}`;
    }
    case 'all-earlier':
      return `runs after all earlier tasks (${blocked.remainingCount} to go)`;
    case 'signal':
      return `for the signal ${blocked.names.join(' or ')}`;
    case 'timer':
      return `until ${isoTime(blocked.dueAtMs)}`;
    case 'child':
      return `for the workflow ${blocked.child}`;
    case 'approval':
      return `for the approval ${blocked.name} of ${blocked.assignee ?? 'a person'}`;
    case 'retry': {
      const { failureCount, dueAtMs, outage } = blocked;
      if (outage !== undefined) return `waits for ${outage.of}: ${outage.why} until ${isoTime(dueAtMs)}`;
      const times = failureCount === 1 ? 'time' : 'times';
      return `failed ${failureCount} ${times} (${task.failureCode}), is tried again at ${isoTime(dueAtMs)}`;
    }
    case 'confirmation': {
      const overdue = blocked.overdueAtMs === null ? '' : `, at the latest at ${isoTime(blocked.overdueAtMs)}`;
      return `waits for the confirmation of ${blocked.key}${overdue}`;
    }
  }
}

const KIND_OF = {
  ...{ tasks: 'tasks', 'all-earlier': 'tasks', signal: 'signal', timer: 'timer', child: 'child', approval: 'approval' },
  ...{ retry: 'retry', confirmation: 'confirmation' },
} as const satisfies Readonly<Record<Blocked['on'], WaitKind>>;

/** All are blocked: the first that does not wait for others of them says why. */
function blocked(stream: Waiting, tasks: readonly TaskState[], there: There): Wait {
  const task = tasks.find((each) => !blockedOn(each).some(isOnTasks)) ?? tasks[0];
  const [first, ...others] = task === undefined ? [] : blockedOn(task);
  if (task === undefined || first === undefined)
    return wait('tasks', 'no task is pending', 'a signal, or cancelling it');
  const dueMs = [first, ...others].map(dueOf).filter((atMs) => atMs !== null);
  const untilMs = dueMs.length === 0 ? null : Math.min(...dueMs);
  const sinceMs = sinceOf(stream, task, first);
  const text = blockedWords(task, NO_STEPS);
  if (untilMs !== null && untilMs + LATE_TIMER_MS < there.nowMs) {
    if (there.isIdle) return { ...unserved(stream, there)!, sinceMs: untilMs };
    const late = `was due at ${isoTime(untilMs)}, and no coordinator has fired its timer`;
    return wait('late-timer', late, 'a coordinator', { sinceMs: untilMs, untilMs, isThere: false });
  }
  const isOutage = first.on === 'retry' && first.outage !== undefined;
  const kind = isOutage ? 'provider' : KIND_OF[first.on];
  const more = tasks.length === 1 ? '' : ` (task ${task.id}, of several)`;
  const isThere = untilMs === null || there.isIdle ? null : true;
  const either = [first, ...others].filter(isAlternative).map(({ on }) => ENDS_BY[KIND_OF[on]]);
  const endsBy = isAlternative(first) ? [...new Set(either)].join(' or ') : ENDS_BY[kind];
  return wait(kind, `${text}${more}`, endsBy, { sinceMs, untilMs, isThere });
}

const NO_STEPS: StepNames = new Map();

const ENDS_BY: Readonly<Record<(typeof KIND_OF)[Blocked['on']] | 'provider', string>> = {
  ...{ provider: 'its next try, once that answers', retry: 'its next try', timer: 'its timer', tasks: 'those tasks' },
  ...{ signal: 'that signal', approval: 'that answer', child: 'the end of that workflow' },
  ...{ confirmation: 'the confirmation, or its probe' },
};

const dueOf = (blocked: Blocked): number | null =>
  blocked.on === 'timer' || blocked.on === 'retry'
    ? blocked.dueAtMs
    : blocked.on === 'confirmation'
      ? blocked.overdueAtMs
      : null;

/** When the task was added, where the newest checkpoint or the opening did that. */
function sinceOf({ head, openedAtMs }: Waiting, task: TaskState, first: Blocked): number | null {
  if (first.on === 'approval') return first.askedAtMs;
  if (first.on === 'retry') return first.outage?.sinceMs ?? task.retry?.anchorMs ?? null;
  const created = Number(task.id.split('.')[0]);
  return created === head.sequence ? (created === 0 ? openedAtMs : head.atMs) : created === 0 ? openedAtMs : null;
}
