/**
 * Owns what a workflow's opening says. It is built from the definition and the input, by the process that starts the workflow or by the
 * worker whose task waits for it. Of user code it runs `begin`, `dispatch` and the schemas of the definition alone. It appends nothing.
 */

import { type ChildOpening, type Children, type Payloads, toJson } from '@tidemark/codec';
import {
  type Compensates,
  childId as derivedChildId,
  type Envelope,
  InvalidError,
  type Json,
  type Lamport,
  localDay,
  type Parent,
  RULES_VERSION,
  recallTagsOf,
  type Sequence,
  type StreamState,
  type TaskId,
  type TenantId,
  type TraceHints,
  taskId,
  type WorkflowId,
  withRecallArm,
} from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import { checkedFragments } from '../agent/index.ts';
import { checkedDispatch, type Definition, type StartOptions } from '../definition/index.ts';
import { digestOf, type Ports, placeOf } from '../kernel/index.ts';
import { WORKFLOW_ID_MAX_CHARS } from '../lease/index.ts';
import { type DeclaredTasks, declareTasks } from './declare-tasks.ts';

export interface StartRequest
  extends Pick<StartOptions, 'pinned' | 'session' | 'user' | 'tags' | 'trace' | 'priority'> {
  readonly definition: Definition;
  readonly input: unknown;
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  /** Whether the workflow is only observed: its agent runs elsewhere, and no worker claims it; false when absent. */
  readonly shadow?: boolean | undefined;
  /** Whether the limits of admission apply; false when absent. */
  readonly isLimited?: boolean | undefined;
  /** Time from now, in milliseconds, after which the workflow is cancelled; the definition's when absent. */
  readonly timeoutMs?: number | undefined;
  /** See `Beginning`; today where this process is when absent. */
  readonly day?: string | undefined;
  /** The workflow that this one compensates; set for an undo. */
  readonly compensates?: Compensates | undefined;
  /** It begins only while none of these ever did; the claim of another runner when absent. */
  readonly unless?: readonly WorkflowId[] | undefined;
}

/** The opening as the placement row holds it: without partition and placement. */
export interface Opening {
  readonly lamport: Lamport;
  readonly atMs: number;
  readonly control: Omit<Envelope<'WorkflowOpened'>['control'], 'partition' | 'placement'>;
  readonly payload: Payloads['WorkflowOpened'];
}

type OpeningRequest = Omit<StartRequest, 'tenant'> & { readonly parent?: Parent | undefined };

export function drawUpOpening(
  { definition, input, ...how }: OpeningRequest,
  { clock, digest }: Pick<Ports, 'clock' | 'digest'>,
): Omit<Opening, 'lamport'> {
  const atMs = clock.nowMs();
  const timeoutMs = how.timeoutMs ?? definition.timeoutMs;
  const parsed = definition.parseInput(input);
  const begun = definition.begin(parsed, { day: how.day ?? localDay(atMs) });
  const belief: Json = definition.parseBelief(toJson(begun.belief, `belief of ${definition.name}.begin`));
  const declared = declareTasks(definition, null, begun.next, 0 as Sequence, atMs);
  const dispatch = checkedDispatch(definition, parsed, how.priority);
  const { recallControlShare: controlShare = 0 } = definition.context ?? {};
  const { session, tags: given = [] } = how;
  const isCompared = session !== undefined && controlShare > 0;
  const tags = isCompared ? withRecallArm(given, placeOf(session, digest), controlShare) : given;
  const children = childrenOf(declared, 0 as Sequence, { ...how, tags }, { clock, digest });
  const fragments = checkedFragments(begun.fragments ?? [], `${definition.name} v${definition.version}, begin`);
  return {
    atMs,
    control: {
      definition: definition.name,
      version: definition.version,
      rules: RULES_VERSION,
      inputDigest: digestOf(digest, parsed),
      tasks: withChildren(declared.tasks, how.workflow, 0 as Sequence),
      pinned: how.pinned ?? false,
      shadow: how.shadow ?? false,
      compensates: how.compensates ?? null,
      ...(how.parent !== undefined && { parent: how.parent }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(session !== undefined && { session }),
      ...(how.user !== undefined && { user: how.user }),
      ...(tags.length > 0 && { tags }),
      ...traceHints(definition, how.trace),
      ...(dispatch !== undefined && { dispatch }),
      ...(fragments.length > 0 && { hasContext: true }),
    },
    payload: {
      input: parsed,
      belief,
      tasks: declared.inputs,
      ...(declared.asks !== undefined && { asks: declared.asks }),
      ...(children !== undefined && { children }),
      ...(fragments.length > 0 && { fragments }),
    },
  };
}

/**
 * The id of the child that a task waits for. It derives from the task, so every process that starts the child starts the same one. Throws
 * `InvalidError` (`children-too-deep`).
 */
export function childId(parent: WorkflowId, task: TaskId): WorkflowId {
  const id = derivedChildId(parent, task);
  if (id.length <= WORKFLOW_ID_MAX_CHARS) return id;
  throw new InvalidError(
    'children-too-deep',
    `Task ${task} of ${parent}: the id of its child would have more than ${WORKFLOW_ID_MAX_CHARS} characters. Give the first parent a shorter id, or have fewer generations.`,
    { workflow: parent, task },
  );
}

/** The tasks, with the ids of the children that they wait for. */
export const withChildren = (
  tasks: DeclaredTasks['tasks'],
  parent: WorkflowId,
  sequence: Sequence,
): DeclaredTasks['tasks'] =>
  tasks.map((task, index) => {
    if (!task.when.some(({ kind }) => kind === 'child')) return task;
    const child = childId(parent, taskId(sequence, index));
    return { ...task, when: task.when.map((wait) => (wait.kind === 'child' ? { ...wait, child } : wait)) };
  });

/**
 * The openings of the declared children, by the tasks' index; undefined: none. Throws what their definitions throw, and `InvalidError`
 * (`child-secret`, `children-too-deep`).
 */
export function childrenOf(
  { children = {} }: DeclaredTasks,
  sequence: Sequence,
  { workflow, user, tags }: Pick<StreamState, 'workflow' | 'user' | 'tags'>,
  ports: { readonly clock: Ports['clock']; readonly digest: Digest },
): Children | undefined {
  const drawn: Record<string, ChildOpening> = {};
  for (const [index, { name, definition, input, onClose }] of Object.entries(children)) {
    if (definition.hasSecrets === true) throw childSecret(definition);
    const task = taskId(sequence, Number(index));
    const parent: Parent = { workflow, task, onClose };
    const request = { definition, input, workflow: childId(workflow, task), user, tags: recallTagsOf(tags), parent };
    const { control, payload } = drawUpOpening(request, ports);
    drawn[index] = {
      name,
      ...placingOf(definition, parent),
      control: control as unknown as Json,
      ...payload,
    } as ChildOpening;
  }
  return Object.keys(drawn).length === 0 ? undefined : drawn;
}

/** Where a workflow of this definition is placed by itself. */
export const modeOf = ({ placement = 'exclusive' }: Pick<Definition, 'placement'>): ChildOpening['mode'] => placement;

/** How a workflow of this definition is placed. */
export const placingOf = (
  definition: Pick<Definition, 'placement'>,
  parent: Parent | undefined,
): Pick<ChildOpening, 'mode' | 'besideParent'> => ({
  mode: modeOf(definition),
  ...(parent !== undefined && definition.placement !== 'exclusive' && { besideParent: true }),
});

const childSecret = ({ name }: Definition): InvalidError =>
  new InvalidError(
    'child-secret',
    `${name} has secret fields, which are sealed with a key of its own: it can't be a child. Start it by an effect.`,
    {
      definition: name,
    },
  );

/** The attributes with which the workflow's trace is drawn; empty if there are none. */
export function traceHints(
  { agent, steps }: Pick<Definition, 'agent' | 'steps'>,
  parent: string | undefined,
): { readonly trace?: TraceHints } {
  const plans = [...steps.values()].flatMap(({ name, plans }) => (plans === true ? [name] : []));
  if (parent === undefined && agent !== true && plans.length === 0) return {};
  return {
    trace: {
      ...(parent !== undefined && { parent }),
      ...(agent === true && { agent }),
      ...(plans.length > 0 && { plans }),
    },
  };
}
