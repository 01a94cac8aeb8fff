/**
 * Owns turning a step's result into its checkpoint: declared control flow is enforced, values are validated, belief becomes
 * a delta or a snapshot. Pure but for the ids and digests that are handed in.
 */

import { type LogNote, type Payloads, toJson } from '@tidemark/codec';
import {
  type CheckpointId,
  diff,
  InvalidError,
  isOpen,
  type Json,
  LIFECYCLE_RULES_VERSION,
  type Sequence,
  type StreamState,
  type TaskState,
  type WorkflowId,
} from '@tidemark/core';
import type { Clock, Digest } from '@tidemark/ports';
import { type CommitContext, endsHistory, NO_CONTEXT } from '../agent/index.ts';
import type { Definition, StepDefinition, StepResult } from '../definition/index.ts';
import type { StreamContent } from '../history/index.ts';
import { digestOf } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';
import { drawUpNext, type Next } from './continuing.ts';
import { declareTasks, NO_CHILD, needsLifecycle } from './declare-tasks.ts';
import { childrenOf, withChildren } from './opening.ts';

export interface CommitInput {
  readonly definition: Definition;
  readonly step: StepDefinition;
  readonly task: TaskState;
  readonly input: Json;
  readonly result: StepResult;
  readonly notes: readonly LogNote[];
  readonly content: StreamContent;
  /** Whose checkpoint it is; absent: its tasks wait for no children. */
  readonly workflow?: WorkflowId | undefined;
  readonly user?: string | undefined;
  /** As it stands; absent: it can't go on with a fresh history. */
  readonly state?: StreamState | undefined;
  /** No other task is pending. */
  readonly isLast: boolean;
  readonly checkpoint: CheckpointId;
  readonly sequence: Sequence;
  readonly parent: CheckpointId | null;
  readonly digest: Digest;
  /** What timers count from, by the holder's clock. */
  readonly nowMs: number;
  /** When the attempt began, by the same. */
  readonly startedAtMs?: number | undefined;
  /** Absent: it brings none. */
  readonly context?: CommitContext | undefined;
}

/** The checkpoint's event, and the workflow's completion after it where the step says so. Changes `content` last of all. */
export function commitDrafts(given: CommitInput): readonly Draft[] {
  const { definition, step, task, result, content, sequence, digest, context = NO_CONTEXT } = given;
  const { spent } = context;
  const open = task.effects.find(isOpen);
  if (open !== undefined) {
    throw new InvalidError(
      'effect-open',
      `Step ${step.name} ended while the outcome of ${open.key} is open. It is retried once the effect's outcome is decided.`,
      { key: open.key },
    );
  }
  const declared = declareTasks(definition, step, result.next ?? [], sequence, given.nowMs);
  const output = result.output === undefined ? null : step.parseOutput(result.output);
  const done = result.done === undefined ? undefined : definition.parseOutput(result.done);
  const clock = { nowMs: () => given.nowMs } as Clock;
  const next = nextOf(given, clock);
  if (!endsHistory(result) && declared.tasks.length === 0 && given.isLast) {
    throw new InvalidError(
      'nothing-left',
      `Step ${step.name} was the last task of ${definition.name} and returned neither done nor next: the workflow would never end. Return { done } with its output, or { continueAsNew } with an input.`,
      { step: step.name, task: task.id },
    );
  }
  const of = { workflow: given.workflow ?? NO_CHILD, user: given.user };
  const children = childrenOf(declared, sequence, of, { clock, digest });
  const belief = believe(definition, step, result, content);
  const payload: Payloads['CheckpointCommitted'] = {
    output,
    tasks: declared.inputs,
    ...(declared.asks !== undefined && { asks: declared.asks }),
    ...(children !== undefined && { children }),
    ...belief.payload,
    ...(given.notes.length === 0 ? {} : { log: given.notes }),
    ...contextPayload(context),
  };
  const committed: Draft = {
    type: 'CheckpointCommitted',
    control: {
      checkpoint: given.checkpoint,
      sequence,
      parent: given.parent,
      task: task.id,
      step: step.name,
      stepVersion: definition.version,
      inputDigest: digestOf(digest, given.input),
      tasks: withChildren(declared.tasks, given.workflow ?? NO_CHILD, sequence),
      belief: belief.kind,
      tokens: countOf(result.tokens, 'tokens', step) + spent.tokens,
      costMicros: countOf(result.costMicros, 'costMicros', step) + spent.costMicros,
      lastAction: result.lastAction ?? step.name,
      supersedes: supersededBy(result, step, sequence),
      ...(given.startedAtMs !== undefined && { startedAtMs: given.startedAtMs }),
      ...(hasContext(context) && { hasContext: true }),
    },
    payload,
  };
  if (next !== undefined) return [committed, continuedDraft(next, digest)];
  if (done === undefined) return [committed];
  const completed: Draft = {
    type: 'WorkflowCompleted',
    control: { outputDigest: digestOf(digest, done) },
    payload: { output: done },
  };
  return [committed, completed];
}

/** Cancelled meanwhile, it doesn't go on: it is ended as any other, once the checkpoint is made. */
function nextOf({ definition, result, state, digest }: CommitInput, clock: Clock): Next | undefined {
  if (result.continueAsNew === undefined || state === undefined || state.ruling === 'cancel') return undefined;
  return drawUpNext(definition, result.continueAsNew, state, { clock, digest });
}

const continuedDraft = ({ as, opening }: Next, digest: Digest): Draft => ({
  type: 'WorkflowCompleted',
  control: { outputDigest: digestOf(digest, opening.input), continued: as },
  payload: { output: null, next: opening },
});

const hasContext = ({ fragments, scope, memories }: CommitContext): boolean =>
  fragments.length > 0 || scope !== null || memories.length > 0;

const contextPayload = ({ fragments, scope, memories }: CommitContext) => ({
  ...(fragments.length > 0 && { fragments }),
  ...(scope !== null && { scope }),
  ...(memories.length > 0 && { memories }),
});

/** Content follows what was staged; if it is rejected, the whole run's content is thrown away. */
export function followStaged(content: StreamContent, drafts: readonly Draft[], task: TaskState): void {
  for (const draft of drafts) {
    if (draft.type !== 'CheckpointCommitted') continue;
    const { delta, snapshot } = draft.payload;
    content.committed(draft.control, draft.payload, JSON.stringify(delta ?? snapshot ?? null).length);
    content.forget(task.effects.map((effect) => effect.key));
  }
}

/** A correction names a checkpoint that is there. */
function supersededBy({ supersedes }: StepResult, step: StepDefinition, sequence: Sequence): Sequence | null {
  if (supersedes === undefined) return null;
  if (Number.isInteger(supersedes) && supersedes >= 1 && supersedes < sequence) return supersedes;
  throw new InvalidError(
    'supersedes-invalid',
    `supersedes of step ${step.name}: there is no checkpoint ${supersedes} yet. Name one from 1 to ${sequence - 1}.`,
    { step: step.name, supersedes },
  );
}

function countOf(value: number | undefined, field: string, step: StepDefinition): number {
  if (value === undefined) return 0;
  if (Number.isFinite(value) && value >= 0) return value;
  throw new InvalidError(
    'step-result-invalid',
    `${field} of step ${step.name}: expected a number from 0, got ${value}.`,
  );
}

interface Believed {
  readonly kind: 'none' | 'delta' | 'snapshot';
  readonly payload: Pick<Payloads['CheckpointCommitted'], 'delta' | 'snapshot'>;
}

/** The update is applied to the belief of now, not of when the step began, so that parallel steps compose. */
function believe(definition: Definition, step: StepDefinition, result: StepResult, content: StreamContent): Believed {
  if (result.belief === undefined) return { kind: 'none', payload: {} };
  const before = content.belief;
  const returned = result.belief(before);
  if (returned instanceof Promise) {
    // Nobody waits for it, so its failure must not end the process.
    returned.catch(() => {});
    throw new InvalidError(
      'step-result-invalid',
      `belief of ${definition.name}.${step.name} must not be asynchronous. Await first, then return the update.`,
    );
  }
  const after = definition.parseBelief(toJson(returned, `belief of ${definition.name}.${step.name}`));
  const delta = diff(before, after);
  if (delta === undefined) return { kind: 'none', payload: {} };
  return content.snapshotDue
    ? { kind: 'snapshot', payload: { snapshot: after } }
    : { kind: 'delta', payload: { delta } };
}

/** What comes before a checkpoint that only later rules can read. */
export function rulesRaised(rules: number, drafts: readonly Draft[]): readonly Draft[] {
  const isNewer = drafts.some(
    (draft) =>
      (draft.type === 'CheckpointCommitted' && needsLifecycle(draft.control.tasks)) ||
      (draft.type === 'WorkflowCompleted' && draft.control.continued !== undefined),
  );
  if (!isNewer || rules >= LIFECYCLE_RULES_VERSION) return [];
  return [{ type: 'RulesRaised', control: { rules: LIFECYCLE_RULES_VERSION }, payload: null }];
}
