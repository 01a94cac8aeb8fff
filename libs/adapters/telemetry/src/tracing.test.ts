/** What users' own instrumentation finds while a step runs. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, context, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { noTelemetry } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import { parseTraceParent, tracing } from './tracing.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

describe('traceparent', () => {
  test('names trace, span and flags', () => {
    const named = { traceId: TRACE_ID, spanId: SPAN_ID, isRemote: true };
    expect(parseTraceParent(`00-${TRACE_ID}-${SPAN_ID}-00`)).toEqual({ ...named, traceFlags: 0 });
    expect(parseTraceParent(`00-${TRACE_ID}-${SPAN_ID}-01`)).toEqual({ ...named, traceFlags: 1 });
  });

  test.each([
    ['empty', ''],
    ['zero trace', `00-${'0'.repeat(32)}-${SPAN_ID}-01`],
    ['zero span', `00-${TRACE_ID}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`],
    ['more fields in version 00', `00-${TRACE_ID}-${SPAN_ID}-01-x`],
    ['version ff', `ff-${TRACE_ID}-${SPAN_ID}-01`],
    ['short', `00-${TRACE_ID.slice(1)}-${SPAN_ID}-01`],
  ])('%s is none', (_, text) => {
    expect(parseTraceParent(text)).toBeUndefined();
  });

  test('a later version may have more fields', () => {
    expect(parseTraceParent(`01-${TRACE_ID}-${SPAN_ID}-01-more`)).toMatchObject({ traceId: TRACE_ID });
  });
});

describe('the context of a step', () => {
  const active = (): SpanContext | undefined => trace.getSpanContext(context.active());
  const traceParent = (): string => `00-${TRACE_ID}-${SPAN_ID}-01`;
  const { within } = tracing(noTelemetry, 1);

  test('is active while it runs, across awaits, where a context manager is registered', async () => {
    const storage = new AsyncLocalStorage<Context>();
    const manager: ContextManager = {
      active: () => storage.getStore() ?? ROOT_CONTEXT,
      with: (own, work, self, ...given) => storage.run(own, () => work.call(self as never, ...given)),
      bind: (_, target) => target,
      enable: () => manager,
      disable: () => manager,
    };
    context.setGlobalContextManager(manager);
    try {
      const seen = await within!(traceParent, async () => {
        await Promise.resolve();
        return active();
      });
      expect(seen).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID });
      expect(active()).toBeUndefined();
    } finally {
      context.disable();
    }
  });

  test('is not even worked out where nobody could find it', () => {
    let count = 0;
    const reported = within!(
      () => {
        count++;
        return traceParent();
      },
      () => 'done',
    );
    expect([reported, count]).toEqual(['done', 0]);
  });
});
