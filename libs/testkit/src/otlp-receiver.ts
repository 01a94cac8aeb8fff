/**
 * Owns a collector of the tests' own: takes OTLP traces over HTTP, as protobuf or JSON, and remembers every span as it came, so that what
 * comes twice is seen twice. Decodes the wire itself (opentelemetry-proto, trace.proto), by no code of those who encode it.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReceivedValue = string | number | boolean | readonly ReceivedValue[] | null;

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
  /** In the order in which they came. */
  readonly spans: readonly ReceivedSpan[];
  readonly requestCount: number;
  /** Of each request. */
  readonly headers: readonly IncomingMessage['headers'][];
  /** Answers requests with this status from now on; 200 takes them. Undefined: never answers. */
  answer(status: number | undefined): void;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingMessage['headers'][] = [];
  let status: number | undefined = 200;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      headers.push(request.headers);
      if (status === undefined) return;
      if (status === 200 && request.url === '/v1/traces') {
        const body = Buffer.concat(chunks);
        const isJson = request.headers['content-type'] === 'application/json';
        spans.push(...(isJson ? jsonSpans(JSON.parse(body.toString())) : protobufSpans(body)));
      }
      response.writeHead(request.url === '/v1/traces' ? status : 404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
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

function jsonValue(value: Readonly<Record<string, unknown>>): ReceivedValue {
  const [kind, held] = Object.entries(value)[0] ?? [];
  if (kind === 'arrayValue') {
    return ((held as { readonly values?: readonly Readonly<Record<string, unknown>>[] }).values ?? []).map(jsonValue);
  }
  if (kind === 'intValue') return Number(held);
  return (held ?? null) as ReceivedValue;
}

type Field = bigint | Buffer;

/** Fields of one message by number: varints and fixed-width numbers as bigints, the rest as bytes. */
function fieldsOf(bytes: Buffer): ReadonlyMap<number, readonly Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, wire] = [tag >> 3, tag & 7];
    let value: Field;
    if (wire === 0) value = varint();
    else if (wire === 1) {
      value = bytes.readBigUInt64LE(at);
      at += 8;
    } else if (wire === 5) {
      value = BigInt(bytes.readUInt32LE(at));
      at += 4;
    } else if (wire === 2) {
      const length = Number(varint());
      value = bytes.subarray(at, at + length);
      at += length;
    } else throw new Error(`wire type ${wire} is not of proto3`);
    const known = fields.get(number);
    if (known === undefined) fields.set(number, [value]);
    else known.push(value);
  }
  return fields;
}

type Fields = ReturnType<typeof fieldsOf>;
const messages = (fields: Fields, number: number): readonly Fields[] =>
  (fields.get(number) ?? []).map((field) => fieldsOf(field as Buffer));
const hex = (fields: Fields, number: number): string =>
  ((fields.get(number)?.[0] ?? Buffer.alloc(0)) as Buffer).toString('hex');
const textOf = (fields: Fields, number: number): string =>
  ((fields.get(number)?.[0] ?? Buffer.alloc(0)) as Buffer).toString();

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

function protobufValue(value: Fields | undefined): ReceivedValue {
  if (value === undefined) return null;
  if (value.has(1)) return textOf(value, 1);
  if (value.has(2)) return value.get(2)![0] === 1n;
  if (value.has(3)) return Number(BigInt.asIntN(64, value.get(3)![0] as bigint));
  if (value.has(4)) {
    const bits = Buffer.alloc(8);
    bits.writeBigUInt64LE(value.get(4)![0] as bigint);
    return bits.readDoubleLE();
  }
  return messages(messages(value, 5)[0] ?? new Map(), 1).map(protobufValue);
}
