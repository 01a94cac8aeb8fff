/**
 * A real Jaeger as the collector: what it stores of a run whose worker was killed is what an export draws, span for span, and an export of
 * a run that it has already adds nothing. Runs where the binary was built: `npm run jaeger` does both.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { testWorld } from '@tidemark/testkit';
import { eventually } from '@tidemark/testkit/eventually';
import { freePort } from '@tidemark/testkit/servers';
import { collectorOf, LiveTraces, SpanClient, type TraceSpan, traceOf } from '@tidemark/traces';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

const BINARY = path.resolve(import.meta.dirname, '../../.cache/jaeger/jaeger-1.76.0');
const START_MAX_MS = 60_000;

const errand = defineWorkflow({
  name: 'errand',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { look: z.object({}), go: z.object({ left: z.number() }) },
  signals: { on: z.object({}) },
  flow: { look: ['go'], go: ['go'] },
  begin: () => ({ belief: {}, next: [task('look', {})] }),
  steps: {
    look: { plans: true, run: () => ({ next: [task('go', { left: 3 }, { when: signal('on') })] }) },
    async go(ctx, { left }) {
      await ctx.run('look', () => left);
      return left === 0 ? { done: {} } : { next: [task('go', { left: left - 1 })] };
    },
  },
});

const settings = (ports: {
  readonly otlp: number;
  readonly grpc: number;
  readonly query: number;
  readonly queryGrpc: number;
}) => `
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines: {traces: {receivers: [otlp], exporters: [jaeger_storage_exporter]}}
  telemetry: {metrics: {level: none}}
extensions:
  jaeger_storage: {backends: {m: {memory: {max_traces: 10000}}}}
  jaeger_query: {storage: {traces: m}, http: {endpoint: "127.0.0.1:${ports.query}"}, grpc: {endpoint: "127.0.0.1:${ports.queryGrpc}"}}
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:${ports.grpc}"}, http: {endpoint: "127.0.0.1:${ports.otlp}"}}}}
exporters: {jaeger_storage_exporter: {trace_storage: m}}
`;

/** A span as Jaeger's query API tells it. */
interface JaegerSpan {
  readonly traceID: string;
  readonly spanID: string;
  readonly operationName: string;
  readonly references: readonly { readonly refType: string; readonly traceID: string; readonly spanID: string }[];
  readonly startTime: number;
  readonly duration: number;
  readonly tags: readonly { readonly key: string; readonly value: unknown }[];
}

describe('Jaeger', () => {
  let jaeger: ChildProcess;
  let folder: string;
  let otlp: string;
  let query: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tidemark-jaeger-'));
    const [otlpPort, grpc, queryPort, queryGrpc] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    const file = path.join(folder, 'jaeger.yaml');
    await writeFile(file, settings({ otlp: otlpPort, grpc, query: queryPort, queryGrpc }));
    otlp = `http://127.0.0.1:${otlpPort}`;
    query = `http://127.0.0.1:${queryPort}`;
    jaeger = spawn(BINARY, ['--config', file], { stdio: 'ignore' });
    await eventually(async () => expect((await fetch(`${query}/api/services`)).ok).toBe(true), {
      timeoutMs: START_MAX_MS,
    });
  }, START_MAX_MS);
  afterAll(async () => {
    jaeger.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const stored = async (trace: string): Promise<readonly JaegerSpan[]> => {
    const response = await fetch(`${query}/api/traces/${trace}`);
    if (!response.ok) return [];
    const { data } = (await response.json()) as { readonly data: readonly { readonly spans: readonly JaegerSpan[] }[] };
    return (data[0]?.spans ?? []).toSorted((a, b) => (a.spanID < b.spanID ? -1 : 1));
  };

  const asJaeger = (span: TraceSpan) => ({
    traceID: span.traceId,
    spanID: span.spanId,
    operationName: span.name,
    parent: span.parentSpanId,
    startTime: span.startMs * 1_000,
    duration: Math.max(1, (span.endMs - span.startMs) * 1_000),
    error: span.error,
    sequence: span.attributes['tidemark.checkpoint.sequence'],
  });
  const textOfSpan = (span: JaegerSpan) => {
    const tag = (name: string): unknown => span.tags.find(({ key }) => key === name)?.value;
    const parent = span.references.find(({ refType }) => refType === 'CHILD_OF');
    const { traceID, spanID, operationName, startTime, duration } = span;
    return {
      ...{ traceID, spanID, operationName, parent: parent?.spanID ?? null, startTime, duration },
      error: tag('error.type'),
      sequence: tag('tidemark.checkpoint.sequence'),
    };
  };

  test('stores what an export draws, of a run whose worker was killed, and nothing more when it is exported again', async () => {
    const collector = new SpanClient(collectorOf({}, otlp)!);
    const world = await testWorld({
      workflows: [errand],
      traces: (ports) =>
        new LiveTraces({
          ports,
          ratio: 1,
          send: (spans, ending) => collector.send(spans, { ending }),
          onDropped: () => {},
          onError: () => {},
        }),
    });
    try {
      const run = await world.start(errand, {}, { id: 'errand-1' });
      await expect.poll(async () => (await run.summary())?.sequence ?? 0).toBe(1);
      world.crash({ before: 'CheckpointCommitted' });
      await world.client.signal('errand-1', 'on', {});
      await run.result();
      const { spans } = await traceOf(world.ports, run.id);
      const drawn = spans.map(asJaeger).toSorted((a, b) => (a.spanID < b.spanID ? -1 : 1));
      const trace = spans[0]!.traceId;
      await expect.poll(async () => (await stored(trace)).length).toBe(drawn.length);
      expect((await stored(trace)).map(textOfSpan)).toEqual(drawn);
      expect(drawn.map(({ operationName }) => operationName)).toContain('recovery');
      // Once more, with a span of its own at the end, by which it shows that all of it has arrived.
      await collector.sendAll([...spans, { ...spans[0]!, spanId: 'f'.repeat(16), name: 'last' }], () => {});
      await expect.poll(async () => (await stored(trace)).at(-1)?.operationName).toBe('last');
      expect((await stored(trace)).slice(0, -1).map(textOfSpan)).toEqual(drawn);
      console.info(`Jaeger stored ${drawn.length} spans of trace ${trace}, and as many after a second export.`);
    } finally {
      await world.close();
    }
  }, 120_000);
});
