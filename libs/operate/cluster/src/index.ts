/**
 * Entry point of @tidemark/cluster: the clients of a cluster's servers, and what sends OTLP. A laptop needs none of it, so the packages that
 * use it have it as an optional peer (decision 0089). Each client is loaded when it is first asked for.
 */

import type { SignatureV4, SignatureV4Init } from '@smithy/signature-v4';

export type { S3ObjectsOptions } from '@tidemark/blob-s3';
export type { KafkaSasl, KafkaSecurity } from '@tidemark/log-kafka';
export type { PresenceOptions, PresenceTls } from '@tidemark/queue-bullmq';

export type AwsCredentials = SignatureV4Init['credentials'];

type Loads<Module> = () => Promise<Module>;

export const kafkaLog: Loads<typeof import('@tidemark/log-kafka')> = () => import('@tidemark/log-kafka');
export const kafkaClient: Loads<typeof import('@platformatic/kafka')> = () => import('@platformatic/kafka');
export const redisQueue: Loads<typeof import('@tidemark/queue-bullmq')> = () => import('@tidemark/queue-bullmq');
export const redisClient: Loads<Pick<typeof import('ioredis'), 'Redis'>> = () => import('ioredis');
export const s3Blobs: Loads<typeof import('@tidemark/blob-s3')> = () => import('@tidemark/blob-s3');
export const awsKmsKeys: Loads<typeof import('@tidemark/keys-aws-kms')> = () => import('@tidemark/keys-aws-kms');
export const grpc: Loads<typeof import('@grpc/grpc-js')> = () => import('@grpc/grpc-js');

/** AWS's default chain (environment, IRSA, pod identity, instance), which keeps what it has found until that expires. */
export const awsCredentials: Loads<AwsCredentials> = async () =>
  (await import('@aws-sdk/credential-provider-node')).defaultProvider();

export const awsSigner = async (options: Omit<SignatureV4Init, 'sha256'>): Promise<SignatureV4> => {
  const [{ SignatureV4 }, { Sha256Node }] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@smithy/core/checksum'),
  ]);
  return new SignatureV4({ ...options, sha256: Sha256Node });
};

/** The exporters of each signal, by protocol. */
export const traceExporters = {
  'http/protobuf': async (config: object) =>
    new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter(config),
  'http/json': async (config: object) =>
    new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter(config),
  grpc: async (config: object) =>
    new (await import('@opentelemetry/exporter-trace-otlp-grpc')).OTLPTraceExporter(config),
} as const;
export const metricExporters = {
  'http/protobuf': async (config: object) =>
    new (await import('@opentelemetry/exporter-metrics-otlp-proto')).OTLPMetricExporter(config),
  'http/json': async (config: object) =>
    new (await import('@opentelemetry/exporter-metrics-otlp-http')).OTLPMetricExporter(config),
  grpc: async (config: object) =>
    new (await import('@opentelemetry/exporter-metrics-otlp-grpc')).OTLPMetricExporter(config),
} as const;
