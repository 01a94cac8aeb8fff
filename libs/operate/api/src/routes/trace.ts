/** Owns the route that returns a workflow's trace: its spans, drawn from its history in any tier. */

import { AccessError, isoTime } from '@tidemark/core';
import { CONTENT_ATTRIBUTES, type SpanAttributes, type TraceSpan, traceOf } from '@tidemark/traces';
import { z } from 'zod';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import { flagSchema, timeSchema, workflowParams } from '../schemas/common.ts';

/** Spans of a trace in one answer. */
const TRACE_PAGE_COUNT = 2_000;

const attributesSchema = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean(), z.array(z.string()).readonly()]),
);

const spanSchema = z
  .object({
    trace_id: z.string(),
    span_id: z.string(),
    parent_span_id: z.string().nullable().meta({ description: 'Null: the workflow itself.' }),
    name: z.string(),
    kind: z.enum(['internal', 'client']),
    start: timeSchema,
    end: timeSchema,
    open: z.boolean().meta({ description: 'Its end is not decided yet; `end` is then the time of the newest event.' }),
    attributes: attributesSchema,
    content: content(attributesSchema),
    error: z.string().nullable().meta({ description: 'Why it failed, as a code.' }),
    links: z.array(z.object({ trace_id: z.string(), span_id: z.string(), attributes: attributesSchema })),
    events: z.array(z.object({ name: z.string(), at: timeSchema, attributes: attributesSchema })),
  })
  .meta({ id: 'Span', description: "A span of a workflow's trace." });

export const getTrace = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/trace',
  summary: 'The trace of a workflow',
  description:
    'The same spans and ids as the live export, those that have ended first. `next_from` is where the next page begins. With `content` attributes have the requests and responses of models, tools and effects, which needs the right to content.',
  right: 'read',
  problems: ['right-missing', 'object-archived'],
  params: workflowParams,
  query: z.object({ from: z.coerce.number().int().min(0).default(0), content: flagSchema }),
  answers: { 200: z.object({ spans: z.array(spanSchema), next_from: z.int().nullable() }) },
  async handle({ params, query, principal, backend, redaction }) {
    const workflow = await backend.check(principal, params.workflow);
    if (query.content && !redaction.content) {
      throw new AccessError('right-missing', "content: it needs the right 'content'; leave it out.");
    }
    const { from } = query;
    // Drawn again for each page, so that later events and forgetting count.
    const { spans, open } = await traceOf(backend.ports, workflow, { content: query.content });
    const all = [...spans, ...open];
    const next_from = from + TRACE_PAGE_COUNT < all.length ? from + TRACE_PAGE_COUNT : null;
    return ok({ spans: all.slice(from, from + TRACE_PAGE_COUNT).map(spanJson), next_from });
  },
});

function spanJson(span: TraceSpan): z.input<typeof spanSchema> {
  const all = Object.entries(span.attributes);
  const contentAttributes = all.filter(([name]) => CONTENT_ATTRIBUTES.has(name));
  const attributes = contentAttributes.length === 0 ? all : all.filter(([name]) => !CONTENT_ATTRIBUTES.has(name));
  return {
    ...{ trace_id: span.traceId, span_id: span.spanId, parent_span_id: span.parentSpanId },
    ...{ name: span.name, kind: span.kind, open: span.isOpen, error: span.error ?? null },
    ...{ start: isoTime(span.startMs), end: isoTime(span.endMs), attributes: Object.fromEntries(attributes) },
    ...(contentAttributes.length > 0 && { content: Object.fromEntries(contentAttributes) satisfies SpanAttributes }),
    links: span.links.map(({ traceId, spanId, attributes }) => ({ trace_id: traceId, span_id: spanId, attributes })),
    events: span.events.map(({ name, atMs, attributes }) => ({ name, at: isoTime(atMs), attributes })),
  };
}
