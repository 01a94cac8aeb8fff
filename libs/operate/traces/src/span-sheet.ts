/** Owns the spans of one workflow while they are drawn: those that have begun, and those that have ended since the last call. Must not know events. */

import type { WorkflowId } from '@tidemark/core';
import { type SpanId, traceIdOf, workflowSpan } from '@tidemark/runtime';
import type { SpanAttributes, SpanEvent, SpanLink, TraceSpan } from './span.ts';

/** Most events (signals, decisions, budgets) on a workflow's own span. Further ones are only counted. */
const SPAN_EVENTS_MAX = 128;

/** A span without its end. */
export interface OpenSpan {
  readonly spanId: SpanId;
  readonly parentSpanId: SpanId | null;
  readonly name: string;
  readonly kind: TraceSpan['kind'];
  startMs: number;
  attributes: SpanAttributes;
  readonly links: readonly SpanLink[];
  readonly events: SpanEvent[];
}

/** Undefined: not known. */
export type KnownAttributes = Readonly<Record<string, SpanAttributes[string] | undefined>>;

export interface Beginning {
  readonly spanId: SpanId;
  /** Default: the workflow's own span. */
  readonly parentSpanId?: SpanId | null;
  readonly name: string;
  readonly kind?: TraceSpan['kind'];
  readonly startMs: number;
  readonly attributes?: SpanAttributes;
  readonly links?: readonly SpanLink[];
}

export class SpanSheet {
  readonly workflow: WorkflowId;
  readonly #traceId: string;
  readonly #root: SpanId;
  #ended: TraceSpan[] | undefined;

  constructor(workflow: WorkflowId) {
    this.workflow = workflow;
    this.#traceId = traceIdOf(workflow);
    this.#root = workflowSpan(workflow);
  }

  begin({ spanId, parentSpanId, name, kind = 'internal', startMs, attributes = {}, links = [] }: Beginning): OpenSpan {
    const parent = parentSpanId === undefined ? this.#root : parentSpanId;
    return { spanId, parentSpanId: parent, name, kind, startMs, attributes, links, events: [] };
  }

  /** An event on a span, as long as there is room. */
  report(span: OpenSpan, event: SpanEvent): void {
    if (span.events.length < SPAN_EVENTS_MAX) span.events.push(event);
    else {
      const left = (span.attributes['tidemark.events_left_out'] as number | undefined) ?? 0;
      span.attributes = { ...span.attributes, 'tidemark.events_left_out': left + 1 };
    }
  }

  /** Undefined attributes are left out. */
  end(span: OpenSpan, endMs: number, attributes?: KnownAttributes, error?: string): void {
    const ended = this.#drawn(span, endMs, attributes, error, false);
    // Most events end one span, and an array that grows from nothing allocates room for seventeen.
    if (this.#ended === undefined) this.#ended = [ended];
    else this.#ended.push(ended);
  }

  /** The span as far as it is known. */
  asOpen(span: OpenSpan, nowMs: number): TraceSpan {
    return this.#drawn(span, nowMs, { 'tidemark.open': true }, undefined, true);
  }

  /** Returns spans that have ended since the last call. */
  take(): readonly TraceSpan[] {
    const ended = this.#ended ?? NONE;
    this.#ended = undefined;
    return ended;
  }

  /** One literal, so that all spans have one shape: this runs for each span, while folding waits. */
  #drawn(
    span: OpenSpan,
    endMs: number,
    more: KnownAttributes | undefined,
    error: string | undefined,
    isOpen: boolean,
  ): TraceSpan {
    const attributes: Record<string, SpanAttributes[string]> = { ...span.attributes };
    for (const name in more) {
      const value = more[name];
      if (value !== undefined) attributes[name] = value;
    }
    if (error !== undefined) attributes['error.type'] = error;
    return {
      traceId: this.#traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId,
      name: span.name,
      kind: span.kind,
      startMs: span.startMs,
      // Two clocks may have written the two times: nothing ends before it begins.
      endMs: Math.max(span.startMs, endMs),
      isOpen,
      attributes,
      error,
      links: span.links,
      events: span.events,
    };
  }
}

const NONE: readonly TraceSpan[] = [];
