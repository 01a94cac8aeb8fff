/** Spans on their way to a collector: both forms of OTLP say the same, by OpenTelemetry's own settings, and failures are told apart. */

import { promisify } from 'node:util';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import {
  jsonSpans,
  type OtlpReceiver,
  protobufSpans,
  type ReceivedSpan,
  startOtlpReceiver,
} from '@tidemark/testkit/otlp-receiver';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { collectorOf, otlpJson, resourceOf, SpanClient } from './collector.ts';
import { SPANS_PER_REQUEST_MAX } from './limits.ts';
import type { TraceSpan } from './span.ts';

const span = (at: number): TraceSpan => ({
  traceId: 'ab'.repeat(16),
  spanId: (at + 1).toString(16).padStart(16, '0'),
  parentSpanId: at === 0 ? null : '0000000000000001',
  name: `step ${at}`,
  kind: at % 2 === 0 ? 'internal' : 'client',
  startMs: 1_767_225_600_000.5 + at,
  endMs: 1_767_225_600_123 + at,
  isOpen: false,
  attributes: { text: 'ü', count: -3, ratio: 0.25, yes: true, no: false, list: ['a', 'b'] },
  error: at === 1 ? 'broken' : undefined,
  links: [{ traceId: 'cd'.repeat(16), spanId: 'ef'.repeat(8), attributes: {} }],
  events: [{ name: 'SignalReceived', atMs: 1_767_225_600_001, attributes: { 'tidemark.signal': 'go' } }],
});

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(() => receiver.close());

describe('a request', () => {
  test('says the same as protobuf and as JSON', async () => {
    const spans = [span(0), span(1)];
    await new SpanClient(collectorOf({}, receiver.endpoint)!).send(spans);
    const protobuf = receiver.spans;
    expect(protobuf).toEqual(jsonSpans(JSON.parse(await otlpJson(spans))));
    expect(protobuf[0]).toEqual({
      traceId: 'ab'.repeat(16),
      spanId: '0000000000000001',
      parentSpanId: '',
      name: 'step 0',
      startNs: '1767225600000500000',
      endNs: '1767225600123000000',
      attributes: span(0).attributes,
      links: [{ traceId: 'cd'.repeat(16), spanId: 'ef'.repeat(8) }],
      status: 0,
    });
    expect(protobuf[1]).toMatchObject({ parentSpanId: '0000000000000001', status: 2 });
  });

  test.each(['http/protobuf', 'http/json'])(
    'is sent as %s, in order and in pieces, with the headers that are set',
    async (protocol) => {
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t1,x-team=a',
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        // As a deployment hands on what it wasn't given: the same as not set.
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: '',
      };
      const spans = Array.from({ length: SPANS_PER_REQUEST_MAX + 1 }, (_, at) => span(at));
      await new SpanClient(collectorOf(env)!).sendAll(spans);
      expect(receiver.spans.map(({ name }) => name)).toEqual(spans.map(({ name }) => name));
      expect(receiver.requestCount).toBe(2);
      expect(receiver.headers[0]).toMatchObject({ authorization: 'Bearer t1', 'x-team': 'a' });
    },
  );

  test('goes over gRPC, with the headers that are set, and is refused by its codes', async () => {
    const server = new Server();
    const taken: { readonly spans: readonly ReceivedSpan[]; readonly who: unknown }[] = [];
    const raw = (bytes: Buffer): Buffer => bytes;
    const unary = {
      ...{ path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export', requestStream: false },
      ...{ responseStream: false, requestSerialize: raw, requestDeserialize: raw },
      ...{ responseSerialize: raw, responseDeserialize: raw },
    };
    const take: handleUnaryCall<Buffer, Buffer> = ({ request, metadata }, done) => {
      const [who] = metadata.get('authorization');
      if (who === undefined) return done({ code: status.UNAUTHENTICATED, details: 'who?' });
      taken.push({ spans: protobufSpans(request), who });
      return done(null, Buffer.alloc(0));
    };
    server.addService({ Export: unary }, { Export: take });
    const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', ServerCredentials.createInsecure());
    onTestFinished(() => server.forceShutdown());
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
    const known = collectorOf({ ...env, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t1' })!;
    await new SpanClient(known).send([span(0)]);
    expect(taken).toMatchObject([{ who: 'Bearer t1', spans: [{ spanId: span(0).spanId, name: 'step 0' }] }]);
    await expect(new SpanClient(collectorOf(env)!).send([span(0)])).rejects.toMatchObject({
      code: 'collector-refused',
    });
    server.forceShutdown();
    const quick = collectorOf({ ...env, OTEL_EXPORTER_OTLP_TIMEOUT: '200' })!;
    await expect(new SpanClient(quick).send([span(0)])).rejects.toMatchObject({ code: 'collector-away' });
  });

  test.each([
    [500, 'collector-away'],
    [429, 'collector-away'],
    [400, 'collector-refused'],
    [401, 'collector-refused'],
  ])('that is answered with %i fails as %s', async (status, code) => {
    receiver.answer(status);
    // A status that may pass is tried again by the exporter, within the time of one request.
    const collector = collectorOf({ OTEL_EXPORTER_OTLP_TIMEOUT: '200' }, receiver.endpoint)!;
    await expect(new SpanClient(collector).send([span(0)])).rejects.toMatchObject({ code });
  });

  test.each(['traces', 'metrics'] as const)('of %s gets no header over a network in clear', (signal) => {
    const set = {
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318',
    };
    expect(() => collectorOf(set, undefined, signal)).toThrow(/HEADERS.*in clear/);
    const own = { [`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`]: 'http://collector.example:4317' };
    expect(() => collectorOf({ ...set, ...own, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, undefined, signal)).toThrow(
      /clear/,
    );
    const { url } = collectorOf({ ...set, OTEL_EXPORTER_OTLP_HEADERS: '' }, undefined, signal)!;
    expect(url).toContain('http://collector.example');
  });

  test('of a header that can not be sent the error tells no value', async () => {
    const headers = 'authorization=Bearer%20of-ours%0Ax';
    const collector = { ...collectorOf({}, receiver.endpoint)!, headers };
    const failed: unknown = await new SpanClient(collector).send([span(0)]).catch((error: unknown) => error);
    const { message, stack, cause } = failed as Error;
    expect(message).toContain('does not answer');
    expect([message, stack, String(cause), (cause as Error).stack].join()).not.toContain('of-ours');
  });

  test('that nobody answers as the process ends is given up soon; one that is answered later than the end is not', async () => {
    receiver.answer(undefined);
    const collector = collectorOf({}, receiver.endpoint)!;
    const ending = new AbortController();
    const underWay = new SpanClient(collector).send([span(0)], { ending: ending.signal });
    await expect.poll(() => receiver.requestCount).toBe(1);
    const beganMs = performance.now();
    ending.abort();
    await expect(underWay).rejects.toThrow(/does not answer: no answer within 2 s, and this process ends/);
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    receiver.answer(200);
    await new SpanClient(collector).send([span(1)], { ending: ending.signal });
    expect(receiver.spans.map(({ name }) => name)).toEqual(['step 1']);
  });

  test('that nobody answers fails in time', async () => {
    receiver.answer(undefined);
    const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '50' };
    await expect(new SpanClient(collectorOf(env, receiver.endpoint)!).send([span(0)])).rejects.toMatchObject({
      code: 'collector-away',
    });
  });
});

describe('the settings', () => {
  test.each([
    [{}, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c/base/' }, 'https://c/base/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:1/own' }, 'http://c:1/own'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'http://c:4317/'],
  ])('%j lead to %s', (env, url) => {
    expect(collectorOf(env)?.url).toBe(url);
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://c:4317' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'not a url' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/xml' }],
  ])('%j are refused, and say what would do', (env) => {
    expect(() => collectorOf(env)).toThrow(/expected http/);
  });

  test('the service has the name that it is given', async () => {
    const env = { OTEL_SERVICE_NAME: 'agents', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20b' };
    expect((await resourceOf(collectorOf(env, 'http://c')!)).attributes).toEqual({
      'service.name': 'agents',
      'deployment.environment.name': 'a b',
    });
  });
});
