/** The settings of TLS: what each service is given, and what is told of files that are wrong, before anything is sent. */

import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type CertificateFiles, ThrowAwayAuthority } from '@tidemark/testkit/servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TLS_SERVICES, tlsFromEnv } from './tls.ts';

let folder: string;
let ours: ThrowAwayAuthority;
let theirs: ThrowAwayAuthority;
let own: CertificateFiles;
let another: CertificateFiles;
let old: CertificateFiles;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-tls-'));
  ours = await ThrowAwayAuthority.make(path.join(folder, 'ours'));
  theirs = await ThrowAwayAuthority.make(path.join(folder, 'theirs'));
  own = await ours.sign('own');
  another = await ours.sign('another');
  old = await ours.sign('old', { expired: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const all = (more: Readonly<Record<string, string>> = {}) => ({
  TIDEMARK_TLS_CA: ours.ca,
  TIDEMARK_TLS_CERT: own.cert,
  TIDEMARK_TLS_KEY: own.key,
  ...more,
});
const codeOf = (env: Readonly<Record<string, string>>, nowMs?: number) => {
  try {
    tlsFromEnv(env, nowMs);
    return undefined;
  } catch (error) {
    return error as Error & { readonly code: string };
  }
};

describe('the settings of TLS', () => {
  it('ask callers for certificates where the API has an authority of its own, and that is served over TLS', async () => {
    const ca = { TIDEMARK_API_TLS_CA: theirs.ca };
    const pair = { TIDEMARK_API_TLS_CERT: own.cert, TIDEMARK_API_TLS_KEY: own.key };
    const asked = await readFile(theirs.ca, 'utf8');
    for (const files of [all(ca), { ...pair, ...ca }]) expect(tlsFromEnv(files).api?.ca).toBe(asked);
    expect(tlsFromEnv(all()).api?.ca).toBeUndefined();
    // In clear, and off in so many words: each would let callers in without one.
    for (const files of [ca, { ...all(ca), TIDEMARK_API_TLS: 'off' }]) {
      expect(() => tlsFromEnv(files)).toThrow(/TIDEMARK_API_TLS/);
    }
  });

  it('are none by default', () => {
    expect(Object.values(tlsFromEnv({}))).toEqual(TLS_SERVICES.map(() => undefined));
  });

  it('are for every service, unless one has its own or none', async () => {
    const read = (file: string): Promise<string> => readFile(file, 'utf8');
    const files = { ca: await read(ours.ca), cert: await read(own.cert), key: await read(own.key) };
    expect(tlsFromEnv(all())).toEqual({
      kafka: files,
      redis: files,
      postgres: files,
      presence: files,
      api: { cert: files.cert, key: files.key },
    });
    const some = tlsFromEnv(
      all({
        TIDEMARK_REDIS_TLS: 'off',
        TIDEMARK_KAFKA_TLS_CA: theirs.ca,
        TIDEMARK_POSTGRES_TLS_CERT: another.cert,
        TIDEMARK_POSTGRES_TLS_KEY: another.key,
      }),
    );
    expect(some.redis).toBeUndefined();
    expect(some.kafka).toEqual({ ...files, ca: await read(theirs.ca) });
    expect(some.postgres).toEqual({ ca: files.ca, cert: await read(another.cert), key: await read(another.key) });
  });

  it('without files are the system’s authorities, for those to whom one connects', () => {
    expect(tlsFromEnv({ TIDEMARK_TLS: 'on' })).toEqual({
      kafka: {},
      redis: {},
      postgres: {},
      presence: undefined,
      api: undefined,
    });
    expect(tlsFromEnv({ TIDEMARK_TLS_CA: ours.ca }).presence).toBeUndefined();
  });

  it('say which file is wrong, and nothing of a key', async () => {
    const text = path.join(folder, 'text');
    await writeFile(text, 'nothing');
    const cases: readonly (readonly [Readonly<Record<string, string>>, string, RegExp])[] = [
      [all({ TIDEMARK_TLS_CA: '/nowhere/ca.pem' }), 'tls-file-unreadable', /TIDEMARK_TLS_CA.*ENOENT/],
      [all({ TIDEMARK_TLS_CA: text }), 'tls-certificate-invalid', /TIDEMARK_TLS_CA/],
      [all({ TIDEMARK_TLS_CERT: text }), 'tls-certificate-invalid', /TIDEMARK_TLS_CERT/],
      [all({ TIDEMARK_TLS_KEY: text }), 'tls-key-unfit', /TIDEMARK_TLS_KEY/],
      [all({ TIDEMARK_TLS_KEY: another.key }), 'tls-key-unfit', /TIDEMARK_TLS_KEY/],
      [all({ TIDEMARK_TLS_KEY: '' }), 'setting-invalid', /go together/],
      [all({ TIDEMARK_REDIS_TLS_KEY: own.key }), 'setting-invalid', /TIDEMARK_REDIS_TLS_CERT/],
      [
        all({ TIDEMARK_TLS_CERT: old.cert, TIDEMARK_TLS_KEY: old.key }),
        'tls-certificate-expired',
        /CN=old.*expired at/,
      ],
      [all({ TIDEMARK_KAFKA_TLS: 'yes' }), 'setting-invalid', /on or off/],
      [{ TIDEMARK_PRESENCE_TLS: 'on' }, 'setting-invalid', /both sides/],
      [{ TIDEMARK_API_TLS: 'on' }, 'setting-invalid', /TIDEMARK_API_TLS_CERT/],
    ];
    for (const [env, code, said] of cases) {
      const error = codeOf(env);
      expect(error, JSON.stringify(env)).toMatchObject({ name: 'ConfigError', code });
      expect(error!.message).toMatch(said);
      expect(error!.message).not.toMatch(/PRIVATE KEY/);
    }
  });

  it('take an authority that is about to be replaced beside the new one, and refuse when none stands', async () => {
    const both = path.join(folder, 'both.pem');
    await copyFile(ours.ca, both);
    await writeFile(both, `${await readFile(old.cert, 'utf8')}${await readFile(ours.ca, 'utf8')}`);
    expect(codeOf({ TIDEMARK_TLS_CA: both })).toBeUndefined();
    expect(codeOf({ TIDEMARK_TLS_CA: both }, Date.now() + 10 * 86_400_000)).toMatchObject({
      code: 'tls-certificate-expired',
    });
  });
});
