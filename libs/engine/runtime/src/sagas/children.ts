/**
 * Owns the work between parents and children: it starts a child for each task that waits for one, reports the child's end to the task, and
 * ends the child with its parent where the child was declared so. Work derives from rows and ids from their causes, so any number of
 * coordinators may do the same, repeatedly. It does not build openings: the step that declared the child has.
 *
 * C1 A fork that replays starts no child: its task gets the end of its base's child (see replayed-child.ts).
 */

import { type ChildOpening, decodePayload, type Payloads } from '@tidemark/codec';
import {
  type ConflictError,
  type Controls,
  eventId,
  type Fork,
  isClosed,
  type Json,
  PARENT_CLOSED,
  type Sequence,
  streamFromJson,
  taskOrder,
  type WorkflowId,
} from '@tidemark/core';
import type { ChildWork, WorkflowSummary } from '@tidemark/ports';
import { currentOf } from '../history/index.ts';
import { idTaken, type Starter } from '../inbox/index.ts';
import { type LamportClock, ownContent, type Ports, Reconcilers } from '../kernel/index.ts';
import type { Inbox } from '../lease/index.ts';
import type { Opening } from '../run/index.ts';
import { isReplaying, keeps, type ReplayedChildReads, replayedChild } from './replayed-child.ts';

/**
 * Work between parents and children: how much one poll serves in all, and at once; first and longest delay before it is served again, in
 * milliseconds, which doubles for failures; and most pages in which a poll searches for something due.
 */
export const CHILD_WORK_COUNT = 2_000;
const CHILD_WORK_AT_ONCE = 32;
export const CHILD_WORK_RETRY_MS = 2_000;
export const CHILD_WORK_RETRY_MAX_MS = 60_000;
const CHILD_WORK_PAGES_MAX = 10;

export interface ChildrenOptions {
  readonly ports: Pick<Ports, 'store' | 'clock' | 'telemetry'>;
  readonly inbox: Inbox;
  readonly starter: Pick<Starter, 'open'>;
  readonly lamport: LamportClock;
  readonly onError: (error: unknown) => void;
}

type Declared = Payloads['WorkflowOpened' | 'CheckpointCommitted'] | undefined;

export class Children {
  readonly #options: ChildrenOptions;
  readonly #reconcilers: Reconcilers;

  constructor(options: ChildrenOptions) {
    this.#options = options;
    this.#reconcilers = new Reconcilers({
      clock: options.ports.clock,
      atOnce: CHILD_WORK_AT_ONCE,
      retryMs: CHILD_WORK_RETRY_MS,
      retryMaxMs: CHILD_WORK_RETRY_MAX_MS,
      restMs: CHILD_WORK_RETRY_MS,
      onError: options.onError,
    });
  }

  async poll(): Promise<void> {
    const { store } = this.#options.ports;
    const due = await this.#due();
    // One parent or checkpoint may have thousands of children.
    const parents = new Map<WorkflowId, Promise<WorkflowSummary | undefined>>();
    const declared = new Map<string, Promise<Declared>>();
    const shared = {
      parent: (id: WorkflowId) => once(parents, id, () => store.workflow(id)),
      declared: (id: WorkflowId, sequence: Sequence) =>
        once(declared, `${id} ${sequence}`, () => this.#declared(id, sequence)),
    };
    await this.#reconcilers.serve(due, nameOf, (work) => this.#serve(work, shared));
  }

  /** Skips children that were served and wait for rows, and failed ones that rest, however many there are. */
  async #due(): Promise<ChildWork[]> {
    const { store } = this.#options.ports;
    const due: ChildWork[] = [];
    for (let page = 0; page < CHILD_WORK_PAGES_MAX && due.length < CHILD_WORK_COUNT; page++) {
      const pending = await store.childWork(CHILD_WORK_COUNT, page * CHILD_WORK_COUNT);
      due.push(...pending.filter((work) => this.#reconcilers.isDue(nameOf(work))));
      if (pending.length < CHILD_WORK_COUNT) break;
    }
    return due;
  }

  async #serve(work: ChildWork, shared: Shared): Promise<void> {
    const parent = await shared.parent(work.parent);
    if (parent === undefined) return;
    this.#options.lamport.witness(parent.lamport);
    if (work.kind === 'start') return this.#start(work, parent, shared);
    const { store } = this.#options.ports;
    // A continued child ends with its last run.
    const child = await (work.kind === 'report' ? currentOf(store, work.child) : store.workflow(work.child));
    // One that had ended may have been reset before its parent heard of it.
    if (child === undefined || (work.kind === 'report' && !isClosed(child))) return;
    if (child.tenant !== parent.tenant) throw this.#taken(work);
    if (work.kind === 'end') return this.#end(work, child);
    return this.#report(work, parent, child, (await childOf(work, shared))?.name ?? null, work.child);
  }

  #taken({ child, parent, task }: ChildWork): ConflictError {
    const message = `Workflow id ${child} belongs to another tenant, so task ${task} of ${parent} gets no child.`;
    return idTaken(this.#options.ports.telemetry, child, message);
  }

  async #start(work: ChildWork, parent: WorkflowSummary, shared: Shared): Promise<void> {
    const drawn = await childOf(work, shared);
    if (drawn === undefined) return;
    if (isReplaying(parent)) return this.#replay(work, parent, drawn, shared);
    if (await this.#isKept(work, parent, drawn, shared)) return;
    const { name: _, mode, besideParent, control, ...payload } = drawn;
    await this.#options.starter.open({
      workflow: work.child,
      tenant: parent.tenant,
      mode,
      besideParent,
      name: (control as unknown as Opening['control']).definition,
      isPlain: true,
      opening: ownContent('stored', {
        lamport: this.#options.lamport.stamp(),
        atMs: this.#options.ports.clock.nowMs(),
        control: control as unknown as Opening['control'],
        payload,
      }),
    });
  }

  async #replay(
    work: ChildWork,
    parent: WorkflowSummary & { readonly fork: Fork },
    drawn: ChildOpening,
    shared: Shared,
  ): Promise<void> {
    const ended = await replayedChild(this.#reads(shared), parent, work.task, drawn);
    if (ended === 'later') return;
    if (ended === 'none') await this.#write(work, parent, notRecorded(drawn.name, work, parent));
    else await this.#report(work, parent, ended.last, drawn.name, ended.child);
  }

  /** Whether a child of the history before a reset, with the same input, has done this one's work: its task learns how that one ended. */
  async #isKept(work: ChildWork, parent: WorkflowSummary, drawn: ChildOpening, shared: Shared): Promise<boolean> {
    const { fork } = parent;
    if (fork === undefined || !keeps({ fork })) return false;
    const ended = await replayedChild(this.#reads(shared), { ...parent, fork }, work.task, drawn);
    if (typeof ended === 'string' || ended.last.status !== 'completed') return false;
    await this.#report(work, parent, ended.last, drawn.name, ended.child);
    return true;
  }

  #reads(shared: Shared): ReplayedChildReads {
    const { store } = this.#options.ports;
    return {
      store,
      childrenOf: async (workflow, sequence) => (await shared.declared(workflow, sequence))?.children,
    };
  }

  /** Both payloads have `children` in the same place. */
  async #declared(workflow: WorkflowId, sequence: Sequence): Promise<Declared> {
    const [row] = await this.#options.ports.store.checkpoints(workflow, { from: sequence, limit: 1 });
    if (row?.sequence !== sequence) return undefined;
    return decodePayload(sequence === 0 ? 'WorkflowOpened' : ('CheckpointCommitted' as never), row.payload);
  }

  /** `row`: the run that ended. `child`: the id by which the task knows it. */
  async #report(
    work: ChildWork,
    parent: WorkflowSummary,
    row: WorkflowSummary,
    name: string | null,
    child: WorkflowId,
  ): Promise<void> {
    this.#options.lamport.witness(row.lamport);
    await this.#write(work, parent, { name, workflow: child, ...endOf(row) });
  }

  async #write({ task, child }: ChildWork, parent: WorkflowSummary, value: ChildEnd): Promise<void> {
    const control = { task, child, outcome: value.outcome } as const;
    await this.#options.inbox.write(parent, eventId(`child:${child}`), 'ChildClosed', control, {
      value: value as unknown as Json,
    });
  }

  async #end({ parent, child }: ChildWork, row: WorkflowSummary): Promise<void> {
    const [found] = await this.#options.ports.store.loadStreams([child], { payloads: false });
    const onClose = found === undefined ? undefined : streamFromJson(found.state, found.tasks).parent?.onClose;
    const control = { code: PARENT_CLOSED, by: parent };
    const why = `Its parent ${parent} has ended.`;
    if (onClose === 'cancel') {
      await this.#options.inbox.write(row, eventId(`parent:${child}:cancel`), 'CancelRequested', control, { why });
    } else if (onClose === 'terminate') {
      const error = { name: 'WorkflowTerminated', code: PARENT_CLOSED, message: why };
      await this.#options.inbox.write(row, eventId(`parent:${child}`), 'WorkflowTerminated', control, { why, error });
    }
  }
}

interface Shared {
  readonly parent: (id: WorkflowId) => Promise<WorkflowSummary | undefined>;
  readonly declared: (id: WorkflowId, sequence: Sequence) => Promise<Declared>;
}

/** The value that the task receives; `workflow` is the one that ended. */
interface ChildEnd {
  readonly name: string | null;
  readonly workflow: WorkflowId;
  readonly outcome: Controls['ChildClosed']['outcome'];
  readonly output: Json;
  readonly reason: string | null;
  readonly message: string | null;
}

function endOf({ status, reason, result }: WorkflowSummary): Omit<ChildEnd, 'name' | 'workflow'> {
  const outcome = status === 'completed' ? 'completed' : status === 'compensated' ? 'compensated' : 'failed';
  const ended = result === null ? {} : decodePayload('CompensationFinished', result);
  const output = outcome === 'completed' && result !== null ? decodePayload('WorkflowCompleted', result).output : null;
  return { outcome, output, reason, message: ended.error?.message ?? null };
}

/** The reason that a fork's task gets when its base had no such child. */
const CHILD_NOT_RECORDED = 'child-not-recorded';

function notRecorded(name: string, { child }: ChildWork, { fork }: { readonly fork: Fork }): ChildEnd {
  const message = `${fork.workflow} had no ended child with this input at this place, and a fork that replays starts none. A fork with live effects does.`;
  return { name, workflow: child, outcome: 'failed', output: null, reason: CHILD_NOT_RECORDED, message };
}

async function childOf({ parent, task }: ChildWork, shared: Shared): Promise<ChildOpening | undefined> {
  const [sequence, index] = taskOrder(task);
  return (await shared.declared(parent, sequence as Sequence))?.children?.[index];
}

const nameOf = ({ kind, child }: ChildWork): string => `${kind} ${child}`;

function once<K, T>(known: Map<K, Promise<T>>, key: K, read: () => Promise<T>): Promise<T> {
  const found = known.get(key) ?? read();
  known.set(key, found);
  return found;
}
