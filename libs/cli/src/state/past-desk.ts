/**
 * Owns what commands ask of a workflow's past, as flat calls with plain data, so that they cross a socket unchanged: how it stood after a
 * checkpoint, and its trace.
 */

import { type PastView, pastOf } from '@tidemark/api/shapes';
import type { Sequence, WorkflowId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import { type DrawnTrace, type TraceSpan, traceOf } from '@tidemark/traces';
import { TRACE_PAGE_COUNT } from '../limits.ts';

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
  /** Spans from the `from`th on, decided ones first; few enough for one answer. Throws as `historyOf` does. */
  trace(workflow: WorkflowId, call: TraceCall): Promise<TracePage>;
}

/** Names of the calls, as a socket passes them on. */
export const PAST_CALLS = ['at', 'trace'] as const satisfies readonly (keyof CommandPast)[];

/** Keeps the last answer for whoever asks for its next page. */
function lastOf(draw: (workflow: WorkflowId, content: boolean) => Promise<DrawnTrace>) {
  let last: { readonly key: string; readonly trace: Promise<DrawnTrace> } | undefined;
  return (workflow: WorkflowId, content: boolean, from: number): Promise<DrawnTrace> => {
    const key = `${content} ${workflow}`;
    if (from === 0 || last?.key !== key) last = { key, trace: draw(workflow, content) };
    return last.trace;
  };
}

export function hostPast({ ports }: Host): CommandPast {
  const drawn = lastOf((workflow: WorkflowId, content: boolean) => traceOf(ports, workflow, { content }));
  return {
    at: (workflow, sequence) => pastOf(ports, workflow, sequence),
    async trace(workflow, { from, content }) {
      const { spans, open } = await drawn(workflow, content, from);
      const all = [...spans, ...open];
      return { spans: all.slice(from, from + TRACE_PAGE_COUNT), hasMore: from + TRACE_PAGE_COUNT < all.length };
    },
  };
}
