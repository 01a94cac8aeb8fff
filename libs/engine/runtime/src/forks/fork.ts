/**
 * Owns the building of a fork: a new workflow that continues from a checkpoint of another and shares its history up to there. The fork's
 * opening has the base's input, the belief at the checkpoint (or another) and the tasks that were pending there; everything before is
 * referenced, and read in place. It runs nothing, and never changes the base.
 */

import { isDeepStrictEqual } from 'node:util';
import { canonicalJson, decodePayload, type ForkOrigin, type Payloads } from '@tidemark/codec';
import {
  type Condition,
  ConflictError,
  type EffectState,
  type Fork,
  forkId,
  InvalidError,
  isSystemDefinition,
  type Json,
  LimitError,
  RULES_VERSION,
  recallTagsOf,
  type Sequence,
  type StreamState,
  streamFromJson,
  type TaskDeclaration,
  type TaskId,
  taskId,
  type WorkflowId,
} from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { sessionFor } from '../agent/index.ts';
import { ownerOf, withSecrets } from '../encryption/index.ts';
import { type PastWorkflow, placeOf, workflowAt } from '../history/index.ts';
import type { OpenRequest } from '../inbox/index.ts';
import { FORK_DEPTH_MAX } from '../inbox/index.ts';
import { digestOf, guardOf, type LamportClock, type Ports, SCHEDULE_SUFFIX } from '../kernel/index.ts';
import { checkedWorkflowId, checkName, WORKFLOW_ID_MAX_CHARS } from '../lease/index.ts';
import { modeOf, traceHints } from '../run/index.ts';
import { answeredBefore } from './fork-answers.ts';
import { chosenDefinition, contentOf, type ForkContent, type GivenContent } from './fork-content.ts';

export interface ForkOptions extends GivenContent {
  /** The checkpoint after which it continues; 0: the opening. */
  readonly at: number;
  /** `replay`: the base's records answer its effects, and nothing is called; `live`: effects are called, under its own keys. */
  readonly effects: Fork['effects'];
  /** The person who makes it. */
  readonly by: string;
  /** The same id returns the same fork; generated when absent. */
  readonly id?: string | undefined;
  /**
   * Checks, before anything is written, whether the caller may call effects again after people's answers, or on a belief that no step
   * produced (`why`, in words); throws if not. Called only for such live forks.
   */
  readonly admit?: ((why: string) => void) | undefined;
}

export interface Forked {
  readonly workflow: WorkflowId;
  /** False: it already existed. */
  readonly created: boolean;
  readonly base: Fork;
  readonly definition: string;
  readonly version: number;
  /** The tasks that it begins with, and their ids in the base. */
  readonly tasks: readonly { readonly task: TaskId; readonly base: TaskId; readonly step: string }[];
  /** Effects that had begun in those tasks. They begin again: `live` effects are called again. */
  readonly begun: readonly {
    readonly task: TaskId;
    readonly operation: string;
    readonly status: EffectState['status'];
  }[];
}

export interface ForkDependencies {
  readonly ports: Pick<Ports, 'log' | 'store' | 'clock' | 'prng' | 'digest' | 'secrets' | 'telemetry' | 'secretPolicy'>;
  readonly lamport: LamportClock;
}

/** Builds the request to open the fork, and its description. Throws what `Client.fork` throws. */
export async function drawUpFork(
  dependencies: ForkDependencies,
  workflow: WorkflowId,
  options: ForkOptions,
): Promise<{ readonly request: OpenRequest; readonly forked: Forked }> {
  const { ports, lamport } = dependencies;
  checkName('by', options.by);
  const id = options.id === undefined ? undefined : checkedWorkflowId(options.id);
  const past = await workflowAt(ports, workflow, checkedSequence(workflow, options.at));
  const { state } = past;
  checkBase(await ports.store.workflow(workflow), past);
  await admitted(ports, past, options);
  const drawn = await drawUpContent(dependencies, past, options);
  // Its parsers hold a belief of the caller's own to the policy; all other content is the base's.
  const names = guardOf(state.definition, drawn.known, ports).names('fork', {
    id: options.id ?? null,
    by: options.by,
  });
  const { control, payload, mode, content } = drawn;
  const recallTags = recallTagsOf(state.tags);
  const opened = { ...control, ...(recallTags.length > 0 && { tags: recallTags }) };
  const request: OpenRequest = {
    workflow: id ?? newId(workflow, ports),
    tenant: state.tenant,
    mode,
    name: state.definition,
    isPlain: true,
    opening: names.as(() => ({ lamport: lamport.stamp(), atMs: ports.clock.nowMs(), control: opened, payload })),
  };
  return {
    request,
    forked: {
      ...reportedOf(past, content.tasks),
      workflow: request.workflow,
      created: true,
      base: control.fork,
      version: content.version,
    },
  };
}

/** The opening of a fork at the checkpoint: its content, as it was or as the caller changes it, and where it comes from. */
export async function drawUpContent(
  { ports, lamport }: ForkDependencies,
  past: PastWorkflow,
  options: Pick<ForkOptions, 'effects' | 'by'> & GivenContent,
) {
  const { state } = past;
  const fork: Fork = { workflow: state.workflow, sequence: state.head.sequence, effects: options.effects };
  const chosen = chosenDefinition(state, options);
  const definition = chosen && (await withSecrets(chosen, ports, () => ownerOf(ports, state)));
  const content = contentOf(past, definition, options);
  lamport.witness(state.lamport);
  const payload: Payloads['WorkflowOpened'] & { readonly fork: ForkOrigin } = {
    input: content.input,
    belief: content.belief,
    tasks: content.tasks.map(({ input }) => input),
    fork: {
      by: options.by,
      shares: sharesOf(past),
      isChanged: content.isChanged,
      inputVersion: content.inputVersion,
      beliefVersion: content.beliefVersion,
      tasks: originsOf(past, content.tasks),
      ...(await sessionOf(ports, past)),
    },
  };
  const control = {
    definition: state.definition,
    version: content.version,
    rules: RULES_VERSION,
    inputDigest: digestOf(ports.digest, content.input),
    tasks: declarationsOf(state, content.tasks),
    pinned: options.version !== undefined || state.pinned,
    shadow: false,
    compensates: null,
    ...(state.user !== undefined && { user: state.user }),
    ...(definition !== undefined && traceHints(definition, undefined)),
    ...(state.dispatch !== undefined && { dispatch: state.dispatch }),
    fork,
  };
  const mode = definition === undefined ? past.opening.placement : modeOf(definition);
  return { control, payload, content, mode, known: chosen === undefined ? [] : [chosen], definition };
}

export async function admitted(
  ports: ForkDependencies['ports'],
  { state }: PastWorkflow,
  options: Pick<ForkOptions, 'effects' | 'belief' | 'input' | 'admit'>,
): Promise<void> {
  const { effects, belief, input, admit } = options;
  if (effects !== 'live' || admit === undefined) return;
  const other = belief !== undefined ? 'belief' : input !== undefined ? 'input' : undefined;
  const why =
    other === undefined ? await answeredBefore(ports, state.workflow, state.head.sequence) : `it has another ${other}`;
  if (why !== undefined) admit(why);
}

/**
 * Whether the workflow of this id is this very fork, with the same beginning; undefined: its opening hasn't been projected yet. Throws
 * `ConflictError` (`workflow-differs`) where it is another.
 */
export async function isSameFork(
  { store }: Pick<Ports, 'store'>,
  { workflow: id, opening }: OpenRequest,
): Promise<true | undefined> {
  const { control, payload } = opening.value;
  const [snapshot] = await store.loadStreams([id]);
  const [recorded] = await store.checkpoints(id, { from: 0 as Sequence, limit: 1 });
  if (snapshot === undefined || recorded?.sequence !== 0) return undefined;
  const known = streamFromJson(snapshot.state, snapshot.tasks).fork;
  if (isDeepStrictEqual(known, control.fork)) {
    const begun = decodePayload('WorkflowOpened', recorded.payload);
    if (canonicalJson(beginningOf(begun)) === canonicalJson(beginningOf(payload))) return true;
    throw new ConflictError(
      'workflow-differs',
      `Workflow id ${id} is this fork with another belief or for another version. Choose another id.`,
      { workflow: id },
    );
  }
  const what =
    known === undefined
      ? 'a workflow that is not a fork'
      : `a fork of ${known.workflow} at ${known.sequence} with effects '${known.effects}'`;
  throw new ConflictError('workflow-differs', `Workflow id ${id} is ${what}. Choose another id.`, { workflow: id });
}

const beginningOf = ({ input, belief, tasks, fork }: Payloads['WorkflowOpened']): Json => ({
  ...{ input, belief, tasks },
  versions: [fork?.inputVersion ?? null, fork?.beliefVersion ?? null],
});

const ID_BYTES = 5;

function newId(base: WorkflowId, { prng }: Pick<Ports, 'prng'>): WorkflowId {
  const digits = Buffer.from(prng.bytes(ID_BYTES)).toString('hex');
  return forkId([...base].slice(0, WORKFLOW_ID_MAX_CHARS / 2).join(''), digits);
}

export function checkedSequence(workflow: WorkflowId, at: number): Sequence {
  if (Number.isSafeInteger(at) && at >= 0) return at as Sequence;
  throw new InvalidError(
    'sequence-unknown',
    `at: give a checkpoint of ${workflow}, a whole number from 0 (its opening).`,
    {
      workflow,
    },
  );
}

/** Throws `InvalidError`, which says why nothing can continue from there. */
export function checkBase(
  row: Pick<WorkflowSummary, 'status' | 'sequence'> | undefined,
  { state, content }: PastWorkflow,
  verb: 'forked' | 'reset' = 'forked',
): void {
  const { workflow, definition, head, frontier } = state;
  const refuse = (code: string, why: string): never => {
    throw new InvalidError(code, `${workflow} can't be ${verb}: ${why}`, { workflow, sequence: head.sequence });
  };
  if (isSystemDefinition(definition)) refuse('fork-of-system', 'it is a stream of the system’s own.');
  if (definition.endsWith(SCHEDULE_SUFFIX)) {
    refuse(
      'fork-of-schedule',
      'it is a schedule, which starts and ends runs by itself. Set another schedule, or take one of its runs.',
    );
  }
  if (state.shadow) refuse('fork-of-shadow', 'its agent runs elsewhere, and no step of it is here to be run.');
  if (state.compensates !== null) {
    refuse('fork-of-undo', `it compensates ${state.compensates.workflow}, which happens once. Take that one.`);
  }
  if ((content.fork?.shares.length ?? 0) >= FORK_DEPTH_MAX) {
    throw new LimitError(
      'fork-too-deep',
      `${workflow} is the last of ${FORK_DEPTH_MAX} forks or resets, each of the one before: it can't be ${verb}.`,
    );
  }
  if (frontier.tasks.find(({ when }) => when.some(({ kind }) => kind === 'child')) !== undefined) {
    refuse('fork-of-parent', 'a task waits for a child there, and a child has one parent. Choose another checkpoint.');
  }
  const isLast = row?.status === 'completed' && row.sequence === head.sequence;
  if (isLast || frontier.tasks.size === 0) {
    refuse('fork-nothing-left', `no task was pending at checkpoint ${head.sequence}. Choose an earlier one.`);
  }
}

/**
 * Tasks begin in their state at the checkpoint: with what they wait for, and without earlier attempts. Their timers get names that no task
 * of the fork itself uses.
 */
function declarationsOf({ frontier }: StreamState, contents: ForkContent['tasks']): readonly TaskDeclaration[] {
  const ids = new Map(Array.from(frontier.tasks, ({ id }, index) => [id, taskId(0, index)]));
  return Array.from(frontier.tasks, ({ after, barrierCount, when }, index) => ({
    step: contents[index]!.step,
    after: barrierCount > 0 ? 'all' : after.map((other) => ids.get(other)!),
    when: when.map(inFork),
  }));
}

export const inFork = (wait: Condition): Condition =>
  wait.kind === 'timer' ? { ...wait, timer: `base:${wait.timer}` } : wait;

const originsOf = ({ state, content }: PastWorkflow, contents: ForkContent['tasks']): ForkOrigin['tasks'] =>
  Array.from(state.frontier.tasks, (task, index) => {
    const cause = content.givenTo(task);
    return {
      task: task.id,
      place: placeOf(task.id, content.fork),
      version: contents[index]!.version,
      ...(cause !== null && { cause }),
    };
  });

const sharesOf = ({ state, content }: PastWorkflow): ForkOrigin['shares'] => [
  { workflow: state.workflow, upTo: state.head.sequence, position: state.position },
  ...(content.fork?.shares ?? []),
];

async function sessionOf(
  { store }: Pick<Ports, 'store'>,
  { state, content }: PastWorkflow,
): Promise<Pick<ForkOrigin, 'session'>> {
  const session = await sessionFor(store, state, content.fork?.session);
  return session === undefined ? {} : { session };
}

function reportedOf(
  { state }: PastWorkflow,
  contents: ForkContent['tasks'],
): Pick<Forked, 'definition' | 'tasks' | 'begun'> {
  const pending = [...state.frontier.tasks];
  return {
    definition: state.definition,
    tasks: pending.map(({ id }, index) => ({ task: taskId(0, index), base: id, step: contents[index]!.step })),
    begun: pending.flatMap(({ id, effects }) =>
      effects.filter(({ kind }) => kind !== 'pure').map(({ operation, status }) => ({ task: id, operation, status })),
    ),
  };
}
