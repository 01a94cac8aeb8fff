/** Spans on their way to a collector: both forms of OTLP say the same, by OpenTelemetry's own settings, and failures are told apart. */

import { promisify } from 'node:util';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { LimitError } from '@tidemark/core';
import { systemClock } from '@tidemark/runtime';
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
import { SpanQueue, type SpanQueueOptions } from './span-queue.ts';
import { SpanRequests } from './span-requests.ts';

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

const never = (error: Error): void => expect.unreachable(error.message);

/** A collector over gRPC with the usual bound of a message, 4 MiB. */
async function grpcCollector(take: handleUnaryCall<Buffer, Buffer>) {
  const server = new Server();
  const raw = (bytes: Buffer): Buffer => bytes;
  const unary = {
    ...{ path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export', requestStream: false },
    ...{ responseStream: false, requestSerialize: raw, requestDeserialize: raw },
    ...{ responseSerialize: raw, responseDeserialize: raw },
  };
  server.addService({ Export: unary }, { Export: take });
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', ServerCredentials.createInsecure());
  onTestFinished(() => server.forceShutdown());
  return { server, port };
}

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
      await new SpanClient(collectorOf(env)!).sendAll(spans, never);
      expect(receiver.spans.map(({ name }) => name)).toEqual(spans.map(({ name }) => name));
      expect(receiver.requestCount).toBe(2);
      expect(receiver.headers[0]).toMatchObject({ authorization: 'Bearer t1', 'x-team': 'a' });
    },
  );

  test('goes over gRPC, with the headers that are set, and is refused by its codes', async () => {
    const taken: { readonly spans: readonly ReceivedSpan[]; readonly who: unknown }[] = [];
    const { server, port } = await grpcCollector(({ request, metadata }, done) => {
      const [who] = metadata.get('authorization');
      if (who === undefined) return done({ code: status.UNAUTHENTICATED, details: 'who?' });
      taken.push({ spans: protobufSpans(request), who });
      return done(null, Buffer.alloc(0));
    });
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
    [413, 'collector-too-large'],
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
    expect(() => collectorOf(set, undefined, signal)).toThrow(
      /HEADERS.*to collector\.example:4318 in clear.*https:\/\/.*localhost.*unset/,
    );
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

describe('spans that are more than a collector takes at once', () => {
  const large = (at: number, bytes: number): TraceSpan => ({ ...span(at), attributes: { text: 'x'.repeat(bytes) } });
  const MAX_BYTES = 4 * 1_024 * 1_024;

  /** The queue of a process over the client, stopped once all is sent. */
  async function queued(send: SpanQueueOptions['send'], spans: readonly TraceSpan[]) {
    const dropped: [number, string][] = [];
    const errors: Error[] = [];
    const onDropped = (count: number, reason: string): void => void dropped.push([count, reason]);
    const queue = new SpanQueue({
      clock: systemClock,
      send,
      onDropped,
      onError: (error) => errors.push(error as Error),
    });
    queue.push(spans);
    queue.start();
    await expect.poll(() => queue.settledCount).toBe(spans.length);
    await queue.stop();
    return { dropped, errors };
  }

  test('go over gRPC in requests that it takes, each once', async () => {
    const ids: string[] = [];
    const { port } = await grpcCollector(({ request }, done) => {
      ids.push(...protobufSpans(request).map(({ spanId }) => spanId));
      done(null, Buffer.alloc(0));
    });
    const collector = collectorOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, `http://127.0.0.1:${port}`)!;
    const spans = Array.from({ length: 700 }, (_, at) => large(at, 8_192));
    await new SpanClient(collector).sendAll(spans, never);
    expect(ids).toEqual(spans.map(({ spanId }) => spanId));
    // Larger than this client would send them: refused by their size, and told apart from other failures.
    const whole = new SpanClient(collector).send(spans);
    await expect(whole).rejects.toMatchObject({ code: 'collector-too-large', details: { mayBeBusy: true } });
  });

  test.each(['http/protobuf', 'http/json'])('are halved where it takes less: %s', async (protocol) => {
    const small = await startOtlpReceiver({ maxBytes: 100_000 });
    onTestFinished(() => small.close());
    const client = new SpanClient(collectorOf({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol }, small.endpoint)!);
    const spans = Array.from({ length: 60 }, (_, at) => large(at, 8_192));
    expect(await queued((some, ending) => client.send(some, { ending }), spans)).toEqual({ dropped: [], errors: [] });
    expect(small.spans.map(({ spanId }) => spanId)).toEqual(spans.map(({ spanId }) => spanId));
    expect(small.requestCount).toBeLessThan(20);
  });

  test('are cut one by one where one alone is too large, counted and named, and later ones go on', async () => {
    const limited = await startOtlpReceiver({ maxBytes: MAX_BYTES });
    onTestFinished(() => limited.close());
    const client = new SpanClient(collectorOf({}, limited.endpoint)!);
    const spans = [span(0), large(1, 5 * 1_024 * 1_024), span(2)];
    const { dropped, errors } = await queued((some, ending) => client.send(some, { ending }), spans);
    expect(dropped).toEqual([[1, 'cut']]);
    expect(errors).toMatchObject([{ code: 'span-too-large', message: expect.stringContaining(spans[1]!.spanId) }]);
    expect(limited.spans.map(({ spanId }) => spanId)).toEqual(spans.map(({ spanId }) => spanId));
    expect(limited.spans[1]!.attributes).toEqual({ text: 'x'.repeat(256), 'tidemark.cut': true });
  });

  test('are dropped where not even a cut one is taken; a busy collector is asked again', async () => {
    const tiny = await startOtlpReceiver({ maxBytes: 10 });
    onTestFinished(() => tiny.close());
    const client = new SpanClient(collectorOf({}, tiny.endpoint)!);
    const { dropped } = await queued((some, ending) => client.send(some, { ending }), [span(0)]);
    expect(dropped).toEqual([
      [1, 'cut'],
      [1, 'refused'],
    ]);
    const requests = new SpanRequests(never);
    const busy = new LimitError('collector-too-large', 'busy', { mayBeBusy: true });
    const sent = requests.send([span(0)], () => Promise.reject(busy));
    await expect(sent).rejects.toMatchObject({ code: 'collector-away' });
  });

  test('are sent whole, and again many at once, after a collector was busy', async () => {
    const cuts: string[] = [];
    const requests = new SpanRequests(({ message }) => cuts.push(message));
    const busy = () => Promise.reject(new LimitError('collector-too-large', 'busy', { mayBeBusy: true }));
    const waiting = Array.from({ length: 60 }, (_, at) => large(at, 30_000));
    const failed = async (): Promise<void> => {
      for (;;) await requests.send(waiting, busy);
    };
    await expect(failed()).rejects.toMatchObject({ code: 'collector-away' });
    const alone = [large(60, 100_000)];
    await expect(requests.send(alone, busy)).rejects.toMatchObject({ code: 'collector-away' });
    await requests.send(alone, async ([sent]) => expect(sent!.attributes).toEqual(large(60, 100_000).attributes));
    let most = 0;
    while (waiting.length > 0) {
      const { count } = await requests.send(waiting, async () => {});
      waiting.splice(0, count);
      most = Math.max(most, count);
    }
    expect(most).toBeGreaterThan(10);
    expect(cuts).toEqual([]);
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
