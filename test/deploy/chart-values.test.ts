/** Values that are empty by default come to where they belong, as helm itself renders them. */

import { beforeAll, describe, expect, test } from 'vitest';
import { envOf, helm, type Manifest, migrationOf, named, podOf, rendered } from './helm.ts';

beforeAll(() => helm(), 180_000);

test('a compactor has an archive, or there is none', async () => {
  const without = (replicas: number) =>
    rendered('own-servers', { settings: { TIDEMARK_ARCHIVE_URL: '' }, compactor: { replicas } });
  await expect(without(1)).rejects.toThrow(
    /TIDEMARK_ARCHIVE_URL is not set, so the compactor has nowhere to archive to.*set compactor\.replicas to 0/,
  );
  const replicasOf = (manifests: readonly Manifest[]) => named(manifests, 'Deployment', '-compactor').spec.replicas;
  expect(replicasOf(await without(0))).toBe(0);
  // Control: with an archive it runs.
  expect(replicasOf(await rendered('own-servers'))).toBe(1);
});

const ofAws = { settings: { TIDEMARK_POSTGRES_AWS_REGION: 'eu-west-1' } };
const closed = { enabled: true, restrictEgress: true };

test.each([
  [
    'a store that each pod has for itself',
    { settings: { TIDEMARK_ARCHIVE_URL: 'file:///tmp/a' } },
    /ARCHIVE_URL names \/tmp/,
  ],
  [
    'a key that each pod makes for itself',
    { settings: { TIDEMARK_KEYS_URL: 'file:///tmp/k.json' } },
    /KEYS_URL names \/tmp/,
  ],
  ['an identity that the migrations lack', ofAws, /set serviceAccount\.create to false and serviceAccount\.name/],
  ['pods that reach nothing', { networkPolicy: closed }, /networkPolicy\.egress is empty/],
])('refuses %s, and says what to do', async (_, values, error) => {
  await expect(rendered('own-servers', values)).rejects.toThrow(error);
});

test('takes the same where they have it (the control), and a wrong configuration ends the migrations at once', async () => {
  const manifests = await rendered('own-servers', {
    ...{ ...ofAws, serviceAccount: { create: false, name: 'tidemark' } },
    networkPolicy: { ...closed, egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] },
  });
  const { podFailurePolicy, template } = migrationOf(manifests).spec;
  expect(template.spec.serviceAccountName).toBe('tidemark');
  expect(podFailurePolicy.rules).toMatchObject([{ action: 'FailJob', onExitCodes: { values: [78] } }]);
});

test('each service and pool has a heap of its own, or half of its limit of memory', async () => {
  const limit = (memory: string | number | null) => ({ resources: { limits: { memory } } });
  const manifests = await rendered('pools', {
    ...{ coordinator: { heapMb: 500 }, compactor: limit('2e9') },
    pools: { crawl: { heapMb: 1200, ...limit('1500M') }, fixed: limit('512Mi'), billing: limit('4Gi') },
  });
  const heap = (name: string) => envOf(podOf(named(manifests, 'Deployment', name))).SERVICE_HEAP_MB;
  expect(['-coordinator', '-worker-crawl', '-worker-fixed', '-worker-billing', '-compactor'].map(heap)).toEqual([
    ...[{ value: '500' }, { value: '1200' }, { value: '268' }, { value: '2147' }, { value: '1000' }],
  ]);
  // The image's own 224, where that is more, or where nothing bounds a pod.
  for (const coordinator of [limit('400Mi'), limit(null), { resources: null }]) {
    const small = await rendered('own-servers', { coordinator });
    expect(envOf(podOf(named(small, 'Deployment', '-coordinator'))).SERVICE_HEAP_MB).toBeUndefined();
  }
  await expect(rendered('own-servers', { worker: { heapMb: 900 } })).rejects.toThrow(
    /heapMb of 'trial-tidemark-worker' is 900, and its resources\.limits\.memory 1Gi/,
  );
  await expect(rendered('own-servers', { worker: limit('1 GB') })).rejects.toThrow(/is 1 GB, and no amount of memory/);
});

const user = { TIDEMARK_KAFKA_USERNAME: 'tide' };
const secret = { kafkaPasswordSecret: 'kafka-user' };
const on = { tls: { kafka: { mode: 'on' } } };
const sasl = (mechanism: string, parts: object = {}) => ({
  settings: { TIDEMARK_KAFKA_SASL: mechanism, ...parts },
});
const msk = { ...sasl('aws-msk-iam', { TIDEMARK_KAFKA_AWS_REGION: 'eu-west-1' }), migrations: { enabled: false } };
const oauth = { ...user, TIDEMARK_KAFKA_TOKEN_URL: 'https://login.example/token' };

test.each([
  ['no secret', { ...sasl('scram-sha-512', user) }, /scram-sha-512, which needs kafkaPasswordSecret/],
  ['no user', { ...sasl('plain'), ...secret, ...on }, /plain, which needs settings\.TIDEMARK_KAFKA_USERNAME/],
  ['no token endpoint', { ...sasl('oauthbearer', user), ...secret, ...on }, /needs settings\.TIDEMARK_KAFKA_TOKEN_URL/],
  ['no region', { ...sasl('aws-msk-iam'), ...on }, /needs settings\.TIDEMARK_KAFKA_AWS_REGION/],
  ['a password beside IAM', { ...msk, ...secret, ...on }, /kafkaPasswordSecret is set, and .* is aws-msk-iam/],
  [
    'a region beside a password',
    { ...sasl('plain', { ...user, TIDEMARK_KAFKA_AWS_REGION: 'eu-west-1' }), ...secret, ...on },
    /TIDEMARK_KAFKA_AWS_REGION is set, and .* is plain/,
  ],
  ['a password without a mechanism', secret, /kafkaPasswordSecret is set, and .* is empty/],
  [
    'a password in clear',
    { ...sasl('plain', user), ...secret },
    /sends a secret in clear without TLS: set tls\.kafka\.mode/,
  ],
  [
    'a password in clear where TLS is off for all',
    { ...sasl('plain', user), ...secret, tls: { all: { mode: 'off', secret: 'tls' } } },
    /sends a secret in clear without TLS/,
  ],
  [
    'no user, whatever else pods have in their environment',
    { ...sasl('plain'), ...secret, ...on, coordinator: { extraEnv: [{ name: 'NODE_OPTIONS', value: '' }] } },
    /plain, which needs settings\.TIDEMARK_KAFKA_USERNAME/,
  ],
  ['an unknown mechanism', { ...sasl('gssapi', user), ...secret }, /TIDEMARK_KAFKA_SASL/],
])('refuses %s for Kafka, by name', async (_, values, error) => {
  await expect(rendered('own-servers', values)).rejects.toThrow(error);
});

test('takes what each mechanism needs, and what pods have in their own environment (the control)', async () => {
  for (const values of [
    { ...sasl('scram-sha-256', user), ...secret },
    { ...sasl('plain', user), ...secret, tls: { kafka: { mode: 'off' } } },
    {
      ...sasl('oauthbearer', { ...oauth, TIDEMARK_KAFKA_TOKEN_SCOPE: 'kafka' }),
      ...secret,
      tls: { all: { secret: 'tls' } },
    },
    { ...msk, ...on },
    { ...sasl('plain'), coordinator: { extraEnvFrom: [{ secretRef: { name: 'kafka' } }] } },
  ])
    await expect(rendered('own-servers', values)).resolves.not.toEqual([]);
});

test.each([
  ['TIDEMARK_KAFKA_BROKERS', 'kafka.example'],
  ['TIDEMARK_KAFKA_BROKERS', 'kafka://kafka.example:9092'],
  ['TIDEMARK_KAFKA_TOKEN_URL', 'https://id:secret@login.example'],
  ['TIDEMARK_KAFKA_PASSWORD_FILE', 'password'],
  ['TIDEMARK_POSTGRES_PASSWORD_FILE', './password'],
  ['TIDEMARK_KAFKA_AWS_REGION', 'Frankfurt'],
  ['TIDEMARK_POSTGRES_AWS_REGION', 'eu-central'],
  ['TIDEMARK_ARCHIVE_URL', 'https://bucket.s3.amazonaws.com'],
  ['TIDEMARK_COLD_URL', 's3://key:secret@bucket'],
  ['TIDEMARK_KEYS_URL', 'arn:aws:kms:eu-central-1:1:key/2'],
  ['TIDEMARK_REDIS_URL', 'rediss://redis.example:6379'],
  ['TIDEMARK_KAFKA_BROKER', 'kafka.example:9092'],
])('the schema names %s where it is %s', async (name, value) => {
  await expect(rendered('own-servers', { settings: { [name]: value } })).rejects.toThrow(name);
});

test('passwords for Kafka and Postgres are files from the Secrets that are named, in every pod', async () => {
  const settings = { TIDEMARK_KAFKA_SASL: 'scram-sha-512', TIDEMARK_KAFKA_USERNAME: 'tide' };
  const secrets = { kafkaPasswordSecret: 'kafka-user', postgresPasswordSecret: 'postgres-user' };
  const manifests = await rendered('own-servers', { settings, ...secrets });
  const { data } = named(manifests, 'ConfigMap', '-settings');
  expect(data).toMatchObject({ ...settings, TIDEMARK_KAFKA_PASSWORD_FILE: '/etc/tidemark/kafka/password' });
  expect(data.TIDEMARK_POSTGRES_PASSWORD_FILE).toBe('/etc/tidemark/postgres/password');
  const deployments = ['-coordinator', '-worker', '-compactor'].map((part) => named(manifests, 'Deployment', part));
  for (const { spec } of [...deployments.map(podOf), migrationOf(manifests).spec.template]) {
    for (const server of ['kafka', 'postgres']) {
      expect(spec.volumes).toContainEqual({
        name: `${server}-password`,
        secret: expect.objectContaining({
          secretName: `${server}-user`,
          items: [{ key: 'password', path: 'password' }],
        }),
      });
      expect(spec.containers[0].volumeMounts).toContainEqual({
        ...{ name: `${server}-password`, mountPath: `/etc/tidemark/${server}`, readOnly: true },
      });
    }
  }
});

describe('everything that is given', () => {
  let all: readonly Manifest[];
  beforeAll(async () => {
    all = await rendered('everything', { monitoring: { podMonitor: { enabled: true }, interval: '42s' } });
  });

  test('certificates come to those that use them, from the Secrets that are named', () => {
    const coordinator = podOf(named(all, 'Deployment', '-coordinator'));
    expect(envOf(coordinator)).toMatchObject({
      TIDEMARK_TLS_CA: { value: '/etc/tidemark/tls/all/ca.crt' },
      TIDEMARK_KAFKA_TLS_CERT: { value: '/etc/tidemark/tls/kafka/user.crt' },
      TIDEMARK_REDIS_TLS: { value: 'on' },
      TIDEMARK_API_TLS_CA: { value: '/etc/tidemark/tls/api/callers.crt' },
    });
    const { volumes } = coordinator.spec;
    const secret = volumes.find(({ name }: { name: string }) => name === 'tls-postgres').secret;
    expect(secret).toMatchObject({ secretName: 'postgres-authority', items: [{ key: 'ca.crt', path: 'ca.crt' }] });
    const worker = podOf(named(all, 'Deployment', '-worker'));
    expect(Object.keys(envOf(worker)).filter((name) => name.startsWith('TIDEMARK_API_TLS'))).toEqual([]);
    expect(worker.spec.containers[0].volumeMounts).toContainEqual({
      ...{ name: 'tls-presence', mountPath: '/etc/tidemark/tls/presence', readOnly: true },
    });
  });

  test('the ingress leads to the API by its name and certificate', () => {
    const { spec, metadata } = named(all, 'Ingress', '-api');
    expect(spec.ingressClassName).toBe('nginx');
    expect(spec.tls).toEqual([{ hosts: ['tidemark.example'], secretName: 'tidemark-example' }]);
    expect(spec.rules[0].host).toBe('tidemark.example');
    expect(spec.rules[0].http.paths[0].backend.service).toEqual({ name: 'trial-tidemark-api', port: { name: 'api' } });
    expect(Object.keys(metadata.annotations!)).toEqual(['nginx.ingress.kubernetes.io/backend-protocol']);
  });

  test('settings of OpenTelemetry, environment, interval and node of the migrations are there', async () => {
    const { data } = named(all, 'ConfigMap', '-settings');
    expect(data).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    });
    const worker = podOf(named(all, 'Deployment', '-worker'));
    expect(envOf(worker)).toMatchObject({
      MODEL: { value: 'small' },
      OTEL_EXPORTER_OTLP_HEADERS: { valueFrom: { secretKeyRef: { name: 'collector' } } },
    });
    expect(worker.spec.containers[0].envFrom).toContainEqual({ secretRef: { name: 'model-keys' } });
    expect(named(all, 'PodMonitor', '').spec.podMetricsEndpoints[0].interval).toBe('42s');
    const there = await rendered('own-servers', { migrations: { nodeSelector: { disk: 'fast' } } });
    expect(migrationOf(there).spec.template.spec.nodeSelector).toEqual({ disk: 'fast' });
    const elsewhere = await rendered('pools', { scaling: { url: 'https://tidemark.example/' } });
    const [{ metadata }] = named(elsewhere, 'ScaledObject', '-worker-billing').spec.triggers;
    expect(metadata.url).toBe('https://tidemark.example/v1/scaling/billing');
  });
});
