/**
 * Owns what commands ask of a workflow's past, as flat calls with plain data, so that they cross a socket unchanged: how it stood after a
 * checkpoint, and a new workflow that goes on from there.
 */

import { maskSecrets, maskSecretsIn } from '@tidemark/codec';
import type { Json, Sequence, TaskState, WorkflowId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { CheckpointRow, FragmentWithText } from '@tidemark/ports';
import { type Definition, type Forked, type ForkOptions, readsOf, workflowAt } from '@tidemark/runtime';
import { type DrawnTrace, type TraceSpan, traceOf } from '@tidemark/traces';
import { TRACE_PAGE_COUNT } from '../limits.ts';

/** A workflow right after one of its checkpoints. */
export interface PastView {
  readonly version: number;
  readonly input: Json;
  readonly belief: Json;
  readonly tasks: readonly TaskState[];
  readonly openedAtMs: number;
  readonly tokens: number;
  readonly costMicros: number;
  readonly lastAction: string;
  /** Sequence 0 is the opening. */
  readonly checkpoint: CheckpointRow;
  /** What model calls saw; of a fork, counted on through what it shares. */
  readonly fragments: readonly FragmentWithText[];
}

export type ForkCall = Omit<ForkOptions, 'definitions'>;

export interface TraceCall {
  readonly from: number;
  readonly content: boolean;
}

export interface TracePage {
  readonly spans: readonly TraceSpan[];
  readonly hasMore: boolean;
}

export interface CommandPast {
  /** Throws as `workflowAt` does. */
  at(workflow: WorkflowId, sequence: Sequence): Promise<PastView>;
  /** Throws as `Client.fork` does. */
  fork(workflow: WorkflowId, call: ForkCall): Promise<Forked>;
  /** Spans from the `from`th on, decided ones first; few enough for one answer. Throws as `historyOf` does. */
  trace(workflow: WorkflowId, call: TraceCall): Promise<TracePage>;
}

/** Names of the calls, as a socket passes them on. */
export const PAST_CALLS = ['at', 'fork', 'trace'] as const satisfies readonly (keyof CommandPast)[];

/** Keeps the last answer for whoever asks for its next page. */
function lastOf(draw: (workflow: WorkflowId, content: boolean) => Promise<DrawnTrace>) {
  let last: { readonly key: string; readonly trace: Promise<DrawnTrace> } | undefined;
  return (workflow: WorkflowId, content: boolean, from: number): Promise<DrawnTrace> => {
    const key = `${content} ${workflow}`;
    if (from === 0 || last?.key !== key) last = { key, trace: draw(workflow, content) };
    return last.trace;
  };
}

export function hostPast({ ports, client }: Host, definitions: readonly Definition[]): CommandPast {
  const drawn = lastOf((workflow: WorkflowId, content: boolean) => traceOf(ports, workflow, { content }));
  return {
    async at(workflow, sequence) {
      const { state, content, checkpoint } = await workflowAt(ports, workflow, sequence);
      return {
        version: state.version,
        input: maskSecrets(content.input),
        belief: maskSecrets(content.belief),
        tasks: [...state.frontier.tasks],
        openedAtMs: state.openedAtMs,
        tokens: state.tokens,
        costMicros: state.costMicros,
        lastAction: state.lastAction,
        checkpoint: { ...checkpoint, payload: maskSecretsIn(checkpoint.payload) },
        fragments: await readsOf(ports.store, workflow, content.fork).fragments(workflow, sequence),
      };
    },
    async trace(workflow, { from, content }) {
      const { spans, open } = await drawn(workflow, content, from);
      const all = [...spans, ...open];
      return { spans: all.slice(from, from + TRACE_PAGE_COUNT), hasMore: from + TRACE_PAGE_COUNT < all.length };
    },
    fork: (workflow, call) => client.fork(workflow, { ...call, definitions }),
  };
}
