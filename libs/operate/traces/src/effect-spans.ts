/**
 * Owns the spans of effects, from the intention to the outcome, by their kind (a model's call, a tool, another call, a closure). An outcome
 * that was recorded without a call under the same lease, since it came from a probe or a person, is a span without length.
 */

import { decodePayload, maskSecrets } from '@tidemark/codec';
import { type EffectKey, type Envelope, type Json, type TaskId, TidemarkError } from '@tidemark/core';
import { effectSpan, type SpanId } from '@tidemark/runtime';
import {
  answerAttributes,
  answerContent,
  chatSpan,
  present,
  spendAttributes,
  toolContent,
  toolSpan,
} from './gen-ai.ts';
import type { SpanAttributes, TraceSpan } from './span.ts';
import type { OpenSpan, SpanSheet } from './span-sheet.ts';
import type { DrawingOptions, TracedEvent } from './traced-event.ts';

/** Longest value of an attribute that holds content, in characters. */
const CONTENT_MAX_CHARS = 8_192;

type Named = Pick<TraceSpan, 'name' | 'kind' | 'attributes'>;

interface OpenEffect {
  readonly task: TaskId;
  readonly span: OpenSpan;
  readonly isModel: boolean;
}

/** How long before its event a span begins, or with it. */
type Parent = (task: TaskId, sinceMs: number) => SpanId;

const RUN = 'run.';
const TOOL = 'tool.';

export class EffectSpans {
  readonly #sheet: SpanSheet;
  readonly #options: DrawingOptions;
  readonly #open = new Map<EffectKey, OpenEffect>();
  /** Effects by task: a failed attempt must not search all of them. */
  readonly #ofTask = new Map<TaskId, Set<EffectKey>>();
  /** Intentions of each key under the lease. */
  readonly #counts = new Map<EffectKey, number>();

  constructor(sheet: SpanSheet, options: DrawingOptions) {
    this.#sheet = sheet;
    this.#options = options;
  }

  claimed(): void {
    this.#counts.clear();
  }

  intended({ envelope, payload }: TracedEvent, parent: Parent): void {
    const { control, epoch, atMs } = envelope as Envelope<'EffectIntended'>;
    const { key, task, model } = control;
    this.#end(key, atMs, 'outcome-unknown');
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const isReported = model !== undefined || this.#options.content === true;
    const request = isReported ? payloadOf('EffectIntended', payload).request : undefined;
    const span = this.#sheet.begin({
      spanId: effectSpan(this.#sheet.workflow, key, epoch, count),
      parentSpanId: parent(task, atMs),
      startMs: atMs,
      ...this.#named(control, request),
    });
    this.#open.set(key, { task, span, isModel: model !== undefined });
    const keys = this.#ofTask.get(task);
    if (keys === undefined) this.#ofTask.set(task, new Set([key]));
    else keys.add(key);
  }

  #take(key: EffectKey): OpenEffect | undefined {
    const open = this.#open.get(key);
    if (open === undefined) return undefined;
    this.#open.delete(key);
    const keys = this.#ofTask.get(open.task);
    keys?.delete(key);
    if (keys?.size === 0) this.#ofTask.delete(open.task);
    return open;
  }

  resolved({ envelope, payload, before }: TracedEvent, parent: Parent): void {
    const { control, atMs } = envelope as Envelope<'EffectResolved'>;
    const open = this.#take(control.key);
    const span = open?.span ?? this.#unasked(envelope as Envelope<'EffectResolved'>, before, parent);
    const isModel = open?.isModel ?? control.spent !== undefined;
    const { outcome, spent } = control;
    const isReported = isModel || outcome === 'failed' || this.#options.content === true;
    const reported = isReported ? payloadOf('EffectResolved', payload) : {};
    this.#sheet.end(
      span,
      atMs,
      present({
        'tidemark.effect.outcome': outcome,
        ...(spent === undefined ? {} : spendAttributes(spent)),
        ...(isModel && outcome === 'done' ? answerAttributes(reported.response ?? null) : {}),
        ...(this.#options.content === true ? this.#answered(reported.response, isModel) : {}),
      }),
      outcome === 'failed' ? errorOf(reported.error) : undefined,
    );
  }

  /** The receiver accepted the call; what follows is a wait. */
  pending({ envelope }: TracedEvent): void {
    const { control, atMs } = envelope as Envelope<'EffectPending'>;
    const open = this.#take(control.key);
    if (open === undefined) return;
    this.#sheet.end(open.span, atMs, { 'tidemark.effect.outcome': 'pending' });
  }

  /** The outcome of calls that an attempt left open is unknown. */
  attemptEnded(task: TaskId, atMs: number, error: string): void {
    for (const key of [...(this.#ofTask.get(task) ?? [])]) this.#end(key, atMs, error);
  }

  leaseEnded(atMs: number, error: string): number {
    const count = this.#open.size;
    for (const key of [...this.#open.keys()]) this.#end(key, atMs, error);
    return count;
  }

  open(): readonly OpenSpan[] {
    return [...this.#open.values()].map(({ span }) => span);
  }

  #end(key: EffectKey, atMs: number, error: string): void {
    const open = this.#take(key);
    if (open === undefined) return;
    this.#sheet.end(open.span, atMs, { 'tidemark.effect.outcome': 'unknown' }, error);
  }

  /** A closure records when it began; anything else was called under an earlier lease, and becomes known only now. */
  #unasked({ control, epoch, atMs }: Envelope<'EffectResolved'>, before: TracedEvent['before'], parent: Parent) {
    const wasIntended = before?.frontier.tasks.get(control.task)?.effects.some(({ key }) => key === control.key);
    const startMs = Math.min(atMs, control.startedAtMs ?? atMs);
    const named = this.#named(control, undefined);
    const found: SpanAttributes = wasIntended ? { 'tidemark.recovery.action': 'recorded' } : {};
    return this.#sheet.begin({
      spanId: effectSpan(this.#sheet.workflow, control.key, epoch, 0),
      parentSpanId: parent(control.task, startMs),
      startMs,
      ...{ ...named, attributes: { ...named.attributes, ...found } },
    });
  }

  #named(control: Envelope<'EffectIntended' | 'EffectResolved'>['control'], request: Json | undefined): Named {
    const { key, operation, kind } = control;
    const own = { 'tidemark.effect.key': key, 'tidemark.effect.operation': operation, 'tidemark.effect.kind': kind };
    if ('model' in control && control.model !== undefined) {
      const chat = chatSpan(request ?? null);
      return { name: chat.name, kind: 'client', attributes: { ...own, ...chat.attributes } };
    }
    const isAsked = 'question' in control && control.question !== undefined;
    if (operation.startsWith(TOOL) || isAsked) {
      const tool = toolSpan(operation.startsWith(TOOL) ? operation.slice(TOOL.length) : operation);
      const content = this.#options.content === true ? bounded(toolContent(request, undefined)) : {};
      return { name: tool.name, kind: 'internal', attributes: { ...own, ...tool.attributes, ...content } };
    }
    if (operation.startsWith(RUN)) {
      return { name: `run ${operation.slice(RUN.length)}`, kind: 'internal', attributes: own };
    }
    const content =
      this.#options.content === true && request !== undefined
        ? bounded({ 'tidemark.effect.request': JSON.stringify(request) })
        : {};
    const isInside = kind === 'pure';
    return { name: `effect ${operation}`, kind: isInside ? 'internal' : 'client', attributes: { ...own, ...content } };
  }

  #answered(response: Json | undefined, isModel: boolean): SpanAttributes {
    if (response === undefined) return {};
    return bounded(isModel ? answerContent(response) : toolContent(undefined, response));
  }
}

/** An unreadable payload, whose key was destroyed, adds nothing. */
function payloadOf(type: 'EffectIntended' | 'EffectResolved', payload: Uint8Array): Readonly<Record<string, Json>> {
  try {
    // Nobody may read sealed fields in a trace.
    return maskSecrets(decodePayload(type, payload) as never) as Readonly<Record<string, Json>>;
  } catch (error) {
    if (error instanceof TidemarkError) return {};
    throw error;
  }
}

/** Its code or class: a message may quote the request. */
const errorOf = (error: Json | undefined): string => {
  const { code, name } = (error ?? {}) as { readonly code?: string; readonly name?: string };
  return code ?? name ?? 'failed';
};

const bounded = (attributes: SpanAttributes): SpanAttributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > CONTENT_MAX_CHARS ? `${value.slice(0, CONTENT_MAX_CHARS)}…` : value,
    ]),
  );
