/** Owns decoding metrics that the tests' own collector receives (opentelemetry-proto, metrics.proto), one data point at a time. */

import {
  type Fields,
  fieldsOf,
  jsonValue,
  messages,
  protobufValue,
  type ReceivedValue,
  textOf,
} from './otlp-fields.ts';

/** One data point. */
export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly resource: Readonly<Record<string, ReceivedValue>>;
  readonly attributes: Readonly<Record<string, ReceivedValue>>;
  readonly startNs: string;
  readonly timeNs: string;
  /** Of a histogram the sum. */
  readonly value: number;
  /** Of a histogram. */
  readonly count: number;
  readonly buckets: readonly number[];
  readonly bounds: readonly number[];
  /** 2: cumulative. */
  readonly temporality: number;
  readonly isMonotonic: boolean;
}

const KINDS = [
  [5, 'gauge'],
  [7, 'sum'],
  [9, 'histogram'],
] as const;

/** The points of an `ExportMetricsServiceRequest` in protobuf. */
export const protobufMetrics = (bytes: Buffer): readonly ReceivedMetric[] =>
  messages(fieldsOf(bytes), 1).flatMap((owned) => {
    const resource = attributesOf(messages(owned, 1)[0] ?? new Map(), 1);
    return messages(owned, 2).flatMap((scope) => messages(scope, 2).flatMap((metric) => pointsOf(metric, resource)));
  });

function pointsOf(metric: Fields, resource: ReceivedMetric['resource']): readonly ReceivedMetric[] {
  const [field, kind] = KINDS.find(([number]) => metric.has(number))!;
  const [data] = messages(metric, field);
  const isHistogram = kind === 'histogram';
  return messages(data!, 1).map((point) => ({
    ...{ name: textOf(metric, 1), unit: textOf(metric, 3), kind, resource },
    attributes: attributesOf(point, isHistogram ? 9 : 7),
    startNs: String(point.get(2)?.[0] ?? 0n),
    timeNs: String(point.get(3)?.[0] ?? 0n),
    value: double(point.get(isHistogram ? 5 : 4)?.[0]),
    count: isHistogram ? Number(point.get(4)?.[0] ?? 0n) : 0,
    buckets: isHistogram ? words(point, 6).map((word) => Number(word.readBigUInt64LE())) : [],
    bounds: isHistogram ? words(point, 7).map((word) => word.readDoubleLE()) : [],
    temporality: Number(data!.get(2)?.[0] ?? 0n),
    isMonotonic: data!.get(3)?.[0] === 1n,
  }));
}

const attributesOf = (fields: Fields, number: number): Readonly<Record<string, ReceivedValue>> =>
  Object.fromEntries(messages(fields, number).map((pair) => [textOf(pair, 1), protobufValue(messages(pair, 2)[0])]));

/** Of a repeated field of 64 bits, which writers of proto3 pack. */
const words = (fields: Fields, number: number): readonly Buffer[] =>
  (fields.get(number) ?? []).flatMap((packed) => {
    const bytes = packed as Buffer;
    return Array.from({ length: bytes.length / 8 }, (_, at) => bytes.subarray(8 * at, 8 * at + 8));
  });

function double(field: bigint | Buffer | undefined): number {
  const bits = Buffer.alloc(8);
  bits.writeBigUInt64LE((field ?? 0n) as bigint);
  return bits.readDoubleLE();
}

interface JsonPoint {
  readonly attributes?: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
  readonly asDouble?: number;
  readonly sum?: number;
  readonly count?: string;
  readonly bucketCounts?: readonly string[];
  readonly explicitBounds?: readonly number[];
}

interface JsonData {
  readonly dataPoints: readonly JsonPoint[];
  readonly aggregationTemporality?: number;
  readonly isMonotonic?: boolean;
}

interface JsonMetrics {
  readonly resourceMetrics: readonly {
    readonly resource: { readonly attributes: NonNullable<JsonPoint['attributes']> };
    readonly scopeMetrics: readonly {
      readonly metrics: readonly ({ readonly name: string; readonly unit: string } & Partial<
        Record<ReceivedMetric['kind'], JsonData>
      >)[];
    }[];
  }[];
}

/** The same in JSON. */
export const jsonMetrics = ({ resourceMetrics }: JsonMetrics): readonly ReceivedMetric[] =>
  resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ name, unit, ...data }) =>
        KINDS.flatMap(([, kind]) =>
          (data[kind]?.dataPoints ?? []).map((point) => ({
            ...{ name, unit, kind, resource: valuesOf(resource.attributes), attributes: valuesOf(point.attributes) },
            ...{ startNs: point.startTimeUnixNano, timeNs: point.timeUnixNano },
            value: point.asDouble ?? point.sum ?? 0,
            count: Number(point.count ?? 0),
            buckets: (point.bucketCounts ?? []).map(Number),
            bounds: point.explicitBounds ?? [],
            temporality: data[kind]?.aggregationTemporality ?? 0,
            isMonotonic: data[kind]?.isMonotonic ?? false,
          })),
        ),
      ),
    ),
  );

const valuesOf = (attributes: JsonPoint['attributes'] = []): Readonly<Record<string, ReceivedValue>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, jsonValue(value)]));
