/**
 * Owns a collector of the tests' own: takes OTLP traces and metrics over HTTP, as protobuf or JSON, and keeps every span as it came, so
 * that a repeated span is visible. Decodes the wire itself (opentelemetry-proto), with no code of the encoders.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fieldsOf, hex, jsonValue, messages, protobufValue, type ReceivedValue, textOf } from './otlp-fields.ts';
import { jsonMetrics, protobufMetrics, type ReceivedMetric } from './otlp-received-metrics.ts';

export type { ReceivedValue } from './otlp-fields.ts';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: none. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly startNs: string;
  readonly endNs: string;
  readonly attributes: Readonly<Record<string, ReceivedValue>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
}

export interface OtlpReceiver {
  /** The base that OTEL_EXPORTER_OTLP_ENDPOINT names. */
  readonly endpoint: string;
  /** In order of arrival. */
  readonly spans: readonly ReceivedSpan[];
  readonly metrics: readonly ReceivedMetric[];
  readonly requestCount: number;
  /** Of each request. */
  readonly headers: readonly IncomingMessage['headers'][];
  /** Answers requests with this status from now on; 200 accepts them. Undefined: never answers. */
  answer(status: number | undefined): void;
  close(): Promise<void>;
}

/** Bodies of more than `maxBytes` are answered with 413. */
export async function startOtlpReceiver({ maxBytes = Number.POSITIVE_INFINITY } = {}): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const metrics: ReceivedMetric[] = [];
  const headers: IncomingMessage['headers'][] = [];
  let status: number | undefined = 200;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      headers.push(request.headers);
      if (status === undefined) return;
      const body = Buffer.concat(chunks);
      if (body.length > maxBytes) return void response.writeHead(413).end();
      const isJson = request.headers['content-type'] === 'application/json';
      if (status === 200 && request.url === '/v1/traces') {
        spans.push(...(isJson ? jsonSpans(JSON.parse(body.toString())) : protobufSpans(body)));
      }
      if (status === 200 && request.url === '/v1/metrics') {
        metrics.push(...(isJson ? jsonMetrics(JSON.parse(body.toString())) : protobufMetrics(body)));
      }
      response.writeHead(/^\/v1\/(?:traces|metrics)$/.test(request.url ?? '') ? status : 404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    metrics,
    headers,
    get requestCount() {
      return headers.length;
    },
    answer(next) {
      status = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

interface JsonRequest {
  readonly resourceSpans?: readonly { readonly scopeSpans?: readonly { readonly spans?: readonly JsonSpan[] }[] }[];
}

/** The spans of an `ExportTraceServiceRequest` in JSON. */
export const jsonSpans = (request: JsonRequest): readonly ReceivedSpan[] =>
  (request.resourceSpans ?? []).flatMap(({ scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        startNs: span.startTimeUnixNano,
        endNs: span.endTimeUnixNano,
        attributes: Object.fromEntries((span.attributes ?? []).map(({ key, value }) => [key, jsonValue(value)])),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
        status: span.status?.code ?? 0,
      })),
    ),
  );

/** The spans of an `ExportTraceServiceRequest` in protobuf. */
export const protobufSpans = (bytes: Buffer): readonly ReceivedSpan[] =>
  messages(fieldsOf(bytes), 1).flatMap((resource) =>
    messages(resource, 2).flatMap((scope) =>
      messages(scope, 2).map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: textOf(span, 5),
        startNs: String(span.get(7)?.[0] ?? 0n),
        endNs: String(span.get(8)?.[0] ?? 0n),
        attributes: Object.fromEntries(
          messages(span, 9).map((pair) => [textOf(pair, 1), protobufValue(messages(pair, 2)[0])]),
        ),
        links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
        status: Number(messages(span, 15)[0]?.get(3)?.[0] ?? 0n),
      })),
    ),
  );
