/** Settings with credentials where none belong, or written so that a part would be taken for something that is shown: refused, not repeated. */

import type { KeyStore } from '@tidemark/ports';
import { expect, test } from 'vitest';
import { configFromEnv } from './config.ts';
import { openKeys } from './keys.ts';
import type { Opened } from './opened.ts';
import { openBlobs, openObjects } from './tiers.ts';

const env = {
  TIDEMARK_KAFKA_BROKERS: 'kafka:9092',
  TIDEMARK_REDIS_URL: 'redis://ana:hunter2@redis:6379',
  TIDEMARK_POSTGRES_URL: 'postgres://ana:hunter2@db:5432/tide?sslmode=require',
  TIDEMARK_ENCRYPTION: 'off',
};

const refusalOf = (given: Readonly<Record<string, string>>): unknown => {
  try {
    return configFromEnv({ ...env, ...given });
  } catch (error) {
    return error;
  }
};

test('addresses of servers may hold a password', () => {
  expect(refusalOf({})).toMatchObject({
    redisUrl: env.TIDEMARK_REDIS_URL,
    postgres: { url: env.TIDEMARK_POSTGRES_URL },
  });
});

test.each([
  ['TIDEMARK_REDIS_URL', 'redis://ana:7/hunter2@redis:6379'],
  ['TIDEMARK_REDIS_URL', 'redis://ana:hunter2/7@redis:6379'],
  ['TIDEMARK_POSTGRES_URL', 'postgres://ana:7/hunter2@db:5432/tide'],
  ['TIDEMARK_POSTGRES_URL', 'postgres://ana:7#hunter2@db:5432/tide'],
  ['TIDEMARK_KAFKA_BROKERS', 'ana:hunter2@kafka:9092'],
])('%s with a password that breaks it is named, with what to do: %s', (name, value) => {
  const refusal = refusalOf({ [name]: value }) as Error;
  expect(refusal).toMatchObject({
    code: 'setting-invalid',
    message: expect.stringContaining(`${name}: expected`),
  });
  expect(JSON.stringify(refusal) + refusal.message).not.toContain('hunter2');
});

test.each([
  's3://ana:hunter2@bucket/prefix',
  's3://hunter2@bucket/prefix',
  's3://bucket/prefix?endpoint=https://ana:hunter2@s3.example',
])('an archive takes its credentials from elsewhere: %s', async (address) => {
  for (const open of [openObjects, openBlobs] as readonly ((...given: [string, string]) => Promise<unknown>)[]) {
    const refusal = await Promise.resolve()
      .then(() => open(address, 'TIDEMARK_ARCHIVE_URL'))
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'archive-address-invalid' });
    expect(String(refusal)).not.toContain('hunter2');
  }
});

const keysAt = (keysUrl: string): Promise<unknown> => {
  const opened = { add: async <T>(one: T | Promise<T>) => one } as unknown as Opened;
  const store = { list: async function* () {}, place: 'here' } as unknown as KeyStore;
  const all = async function* () {};
  return openKeys({ keysUrl }, opened, async () => ({ store, all })).catch((error: unknown) => error);
};

test.each([
  'transit:http://vault.example:8200/transit/tide?tokenFile=/nowhere',
  'aws-kms:alias/tide?region=eu-central-1&endpoint=http://kms.example',
])('a data key crosses no network in clear: %s', async (keysUrl) => {
  expect(await keysAt(keysUrl)).toMatchObject({ code: 'key-address-invalid' });
});

test.each([
  'transit:https://ana:hunter2@vault.example:8200/transit/tide?tokenFile=/nowhere',
  'aws-kms:alias/tide?region=eu-central-1&endpoint=https://ana:hunter2@kms.example',
])('a key takes its credentials from elsewhere: %s', async (keysUrl) => {
  const refusal = await keysAt(keysUrl);
  expect(refusal).toMatchObject({ code: 'keys-address-invalid' });
  expect(String(refusal)).not.toContain('hunter2');
});
