/** The port on a tracer and a meter of the test's own, which remember what they are told. */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Span as ApiSpan,
  type Context,
  type ContextManager,
  context,
  type Meter,
  ROOT_CONTEXT,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { UnavailableError } from '@tidemark/core';
import { type MetricName, noTelemetry } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import { INSTRUMENTS } from './instruments.ts';
import { formatTraceParent, openTelemetry, parseTraceParent, tracing } from './open-telemetry.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

interface Remembered {
  readonly name: string;
  readonly options: SpanOptions | undefined;
  readonly parent: SpanContext | undefined;
  readonly calls: [string, unknown][];
}

function rememberingTracer(own: SpanContext): { tracer: Tracer; spans: Remembered[] } {
  const spans: Remembered[] = [];
  const tracer = {
    startSpan(name: string, options?: SpanOptions, parent?: Context) {
      const calls: [string, unknown][] = [];
      spans.push({ name, options, parent: parent && trace.getSpanContext(parent), calls });
      const note = (method: string) => (argument?: unknown) => void calls.push([method, argument]);
      return {
        spanContext: () => own,
        setAttributes: note('setAttributes'),
        recordException: note('recordException'),
        setStatus: note('setStatus'),
        end: note('end'),
      } as unknown as ApiSpan;
    },
  } as unknown as Tracer;
  return { tracer, spans };
}

function rememberingMeter(): { meter: Meter; created: string[]; recorded: unknown[][] } {
  const created: string[] = [];
  const recorded: unknown[][] = [];
  const create = (kind: string) => (name: string) => {
    created.push(`${kind} ${name}`);
    const note = (value: number, attributes: unknown) => void recorded.push([kind, name, value, attributes]);
    return { add: note, record: note };
  };
  const meter = {
    createCounter: create('counter'),
    createHistogram: create('histogram'),
    createGauge: create('gauge'),
  } as unknown as Meter;
  return { meter, created, recorded };
}

const ownContext: SpanContext = { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1 };

describe('spans', () => {
  test('attributes and the remote parent reach the tracer; the span names itself as traceparent', () => {
    const { tracer, spans } = rememberingTracer(ownContext);
    const telemetry = openTelemetry({ tracer });
    const span = telemetry.span('step', { workflow: 'w', steps: 2 }, `00-${TRACE_ID}-00f067aa0ba902b7-01`);
    span.set({ epoch: 3 });
    span.end();
    expect(span.trace).toBe(`00-${TRACE_ID}-${SPAN_ID}-01`);
    expect(spans[0]).toMatchObject({
      name: 'step',
      options: { attributes: { workflow: 'w', steps: 2 } },
      parent: { traceId: TRACE_ID, spanId: '00f067aa0ba902b7', traceFlags: 1, isRemote: true },
      calls: [
        ['setAttributes', { epoch: 3 }],
        ['end', undefined],
      ],
    });
  });

  test('a parent that is none starts a trace of its own', () => {
    const { tracer, spans } = rememberingTracer(ownContext);
    openTelemetry({ tracer }).span('step', undefined, 'nonsense');
    expect(spans[0]?.parent).toBeUndefined();
  });

  test('an error of ours is recorded with its code and message', () => {
    const { tracer, spans } = rememberingTracer(ownContext);
    const span = openTelemetry({ tracer }).span('append');
    span.fail(new UnavailableError('log-unavailable', 'The log is away'));
    const [exception, status] = spans[0]!.calls;
    expect(exception?.[1]).toMatchObject({
      name: 'UnavailableError',
      code: 'log-unavailable',
      message: 'log-unavailable: The log is away',
    });
    expect(status).toEqual(['setStatus', { code: SpanStatusCode.ERROR, message: 'log-unavailable: The log is away' }]);
  });

  test('an error of others is recorded without its message, which may quote a payload', () => {
    const { tracer, spans } = rememberingTracer(ownContext);
    const span = openTelemetry({ tracer }).span('step');
    span.fail(Object.assign(new TypeError('secret\n    of two lines'), { code: 'ECODE' }));
    span.fail('secret');
    const reported = JSON.stringify(spans[0]!.calls);
    expect(reported).not.toContain('secret');
    expect(reported).not.toContain('two lines');
    expect(reported).toContain('TypeError ECODE');
    expect(reported).toContain('a thrown string');
    expect(reported).toMatch(/at .*open-telemetry\.test/);
  });

  test('without an SDK nothing is recorded, and there is no traceparent', () => {
    const telemetry = openTelemetry();
    const span = telemetry.span('step');
    span.set({ a: 1 });
    span.fail(new Error('x'));
    span.end();
    expect(span.trace).toBeUndefined();
    telemetry.count('steps_total', 1);
    telemetry.observe('recovery_duration_seconds', 1);
    telemetry.gauge('log_size_bytes', 1);
  });
});

describe('metrics', () => {
  test('every metric is created once, as what its name says', () => {
    const { meter, created } = rememberingMeter();
    const telemetry = openTelemetry({ meter });
    telemetry.count('steps_total', 1);
    telemetry.count('steps_total', 1);
    const names = Object.keys(INSTRUMENTS) as MetricName[];
    expect(created.sort()).toEqual(names.map((name) => `${INSTRUMENTS[name].kind} ${name}`).sort());
    for (const name of names) {
      const { kind } = INSTRUMENTS[name];
      if (name.endsWith('_total')) expect(kind).toBe('counter');
      if (name.endsWith('_seconds')) expect(kind).toBe('histogram');
    }
  });

  test('values and attributes reach their instrument', () => {
    const { meter, recorded } = rememberingMeter();
    const telemetry = openTelemetry({ meter });
    telemetry.count('recovery_attempts_total', 2, { action: 'replay' });
    telemetry.observe('checkpoint_commit_latency_seconds', 0.004);
    telemetry.gauge('projection_lag_events', 9, { partition: 1 });
    expect(recorded).toEqual([
      ['counter', 'recovery_attempts_total', 2, { action: 'replay' }],
      ['histogram', 'checkpoint_commit_latency_seconds', 0.004, undefined],
      ['gauge', 'projection_lag_events', 9, { partition: 1 }],
    ]);
  });

  test('a metric used as what it is not is a bug, said at once', () => {
    const { meter } = rememberingMeter();
    const telemetry = openTelemetry({ meter });
    expect(() => telemetry.count('log_size_bytes', 1)).toThrow(/log_size_bytes is no counter/);
    expect(() => telemetry.gauge('steps_total', 1)).toThrow(/steps_total is no gauge/);
  });
});

describe('traceparent', () => {
  test('round trip', () => {
    const text = `00-${TRACE_ID}-${SPAN_ID}-00`;
    expect(formatTraceParent(parseTraceParent(text)!)).toBe(text);
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
