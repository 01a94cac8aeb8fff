/**
 * A broker that demands SASL: both of our clients come in by each mechanism that settings name, a password that was replaced is taken without a
 * restart, and a wrong one is refused by name and shown nowhere.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCli, Terminal } from '@tidemark/cli';
import type { Offset, Partition } from '@tidemark/core';
import { configFromEnv } from '@tidemark/host';
import { openKafkaLog } from '@tidemark/log-kafka';
import { type KafkaWithSasl, startKafkaWithSasl } from '@tidemark/testkit/servers';
import { freshTopicName } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';

vi.setConfig({ hookTimeout: 180_000 });

const [USER, PASSWORD] = ['tide', 'first-Password'];
let folder: string;
let file: string;
let kafka: KafkaWithSasl;
let tokens: Server;
/** How long the tokens that are given out are good for, in seconds. */
let tokenLifeS: number;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-sasl-'));
  file = path.join(folder, 'password');
  kafka = await startKafkaWithSasl(USER, PASSWORD);
  tokens = createServer((_request, response) => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const [iat, exp] = [Math.floor(Date.now() / 1_000) - 600, Math.floor(Date.now() / 1_000) + tokenLifeS];
    const token = `${part({ alg: 'none' })}.${part({ sub: USER, iat, exp })}.`;
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ access_token: token, token_type: 'bearer', expires_in: 300 }));
  });
  await new Promise<void>((resolve) => tokens.listen(0, '127.0.0.1', resolve));
});
beforeEach(async () => {
  tokenLifeS = 300;
  await writeFile(file, `${PASSWORD}\n`);
});
afterAll(async () => {
  tokens?.close();
  await kafka?.server.stop();
  await rm(folder, { recursive: true, force: true });
});

const settings = (mechanism: string, more: Readonly<Record<string, string>> = {}) => ({
  TIDEMARK_KAFKA_BROKERS: kafka.address,
  TIDEMARK_REDIS_URL: 'redis://127.0.0.1:1',
  TIDEMARK_POSTGRES_URL: 'postgres://127.0.0.1:1/x',
  TIDEMARK_ENCRYPTION: 'off',
  TIDEMARK_KAFKA_TLS: 'off',
  TIDEMARK_KAFKA_SASL: mechanism,
  TIDEMARK_KAFKA_USERNAME: USER,
  TIDEMARK_KAFKA_PASSWORD_FILE: file,
  ...more,
});

const open = (mechanism: string, more?: Readonly<Record<string, string>>) => {
  const { brokers, sasl } = configFromEnv(settings(mechanism, more));
  const limits = { connectTimeoutMs: 5_000 };
  return openKafkaLog({ brokers, topic: freshTopicName('sasl'), partitions: 2, limits, ...(sasl && { sasl }) });
};
const tokenUrl = () => ({
  TIDEMARK_KAFKA_TOKEN_URL: `http://127.0.0.1:${(tokens.address() as AddressInfo).port}/token`,
});

it.each([
  ['plain', () => ({})],
  ['scram-sha-256', () => ({})],
  ['scram-sha-512', () => ({})],
  ['oauthbearer', tokenUrl],
])('by %s records are written and read', async (mechanism, more) => {
  const log = await open(mechanism, more());
  try {
    const value = Buffer.from(mechanism);
    await log.append(1 as Partition, [{ value, type: 'x' }]);
    const [read] = await log.read([{ partition: 1 as Partition, from: 0 as Offset }]);
    expect(Buffer.from(read!.records[0]!.value).toString()).toBe(mechanism);
  } finally {
    await log.close();
  }
});

it.each(['plain', 'scram-sha-256', 'scram-sha-512'])(
  'by %s a wrong password is refused, and not shown',
  async (mechanism) => {
    await writeFile(file, 'Wrong-password');
    const error = await open(mechanism).then(
      (log) => log.close(),
      (failure: Error) => failure,
    );
    expect(error).toMatchObject({ code: 'log-unauthorized' });
    expect(String((error as Error).message)).not.toContain('Wrong-password');
  },
);

const refusalOf = (opened: ReturnType<typeof open>): Promise<Error> =>
  opened.then(
    (log) => log.close().then(() => new Error('it was let in')),
    (failure: Error) => failure,
  );

it('a token that has expired is told of, and not shown; the next one is taken', async () => {
  tokenLifeS = -300;
  const error = await refusalOf(open('oauthbearer', tokenUrl()));
  expect(error).toMatchObject({ code: 'log-unavailable' });
  expect(error.message).toContain('a token has expired');
  expect(error.message).not.toContain('eyJ');
  tokenLifeS = 300;
  await (await open('oauthbearer', tokenUrl())).close();
});

it('of a broker that demands what is not set it is said that it may', async () => {
  const limits = { connectTimeoutMs: 5_000 };
  const opened = openKafkaLog({ brokers: [kafka.address], topic: freshTopicName('sasl'), partitions: 2, limits });
  expect(await refusalOf(opened)).toMatchObject({ message: expect.stringContaining('demands TLS or SASL') });
});

/** What `tidemark admin doctor` says of Kafka; the other servers aren't there. */
async function doctor(): Promise<{ readonly level: string; readonly message: string }[]> {
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) > 0 };
  const terminal = new Terminal({ stdout, stderr: { write: () => true }, env: {}, json: true } as never);
  const stdin = (async function* () {})();
  const env = settings('scram-sha-256');
  await runCli(['admin', 'doctor', '--json'], { terminal, env, cwd: folder, stdin });
  const { checks } = JSON.parse(written.join('')) as { checks: { check: string; level: string; message: string }[] };
  return checks.filter(({ check }) => check === 'Kafka');
}

it('the doctor comes in by it, and says what was wrong', async () => {
  expect((await doctor()).map(({ level }) => level)).toEqual(['ok', 'warn']);
  await writeFile(file, 'Wrong-password');
  const refused = await doctor();
  expect(refused).toMatchObject([{ level: 'fail', message: expect.stringMatching(/authenticat/i) }]);
  expect(JSON.stringify(refused)).not.toContain('Wrong-password');
});

it('a password that was replaced is taken at the next connection', async () => {
  const log = await open('scram-sha-512');
  try {
    await kafka.setPassword('SCRAM-SHA-512', 'second-Password');
    await writeFile(file, 'second-Password');
    await kafka.server.kill();
    await kafka.server.startAgain();
    await log.append(0 as Partition, [{ value: Buffer.from('after'), type: 'x' }]);
    expect((await log.bounds([0 as Partition])).get(0 as Partition)!.end).toBe(1);
  } finally {
    await log.close();
  }
});
