/**
 * Speaking to a server: who it is there, what it is refused, and that no credential is ever told. The same commands ask a folder where no
 * server is meant.
 */

import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { type Listening, listenApi, localAuthenticator } from '@tidemark/api';
import { AccessError, DEFAULT_TENANT } from '@tidemark/core';
import { type Host, openEmbedded } from '@tidemark/host';
import type { Authenticator, Principal } from '@tidemark/ports';
import { DEVICE_CLIENT, TokenIssuer } from '@tidemark/testkit/token-issuer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CalledCli, callCli } from './called-cli-fixture.ts';
import { tokenOf } from './place/oidc.ts';

const KEY = 'tk_operator_secret';
const READER_KEY = 'tk_reader_secret';
const operator: Principal = { subject: 'key:ops', tenant: DEFAULT_TENANT, roles: ['operator'], kind: 'key' };
const PRINCIPALS: Readonly<Record<string, Principal>> = {
  [KEY]: operator,
  [READER_KEY]: { ...operator, subject: 'key:reader', roles: ['viewer'] },
};

/** Of a token of an issuer; how one is judged is access's own test. */
function tokenHolder(token: string): Principal | undefined {
  if (token.split('.').length !== 3) return undefined;
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { readonly sub: string };
  return { ...operator, subject: `token:${sub}`, kind: 'token' };
}

const authenticator: Authenticator = {
  async authenticate({ authorization }) {
    const shown = authorization?.replace('Bearer ', '') ?? '';
    const principal = PRINCIPALS[shown] ?? tokenHolder(shown);
    if (principal === undefined) throw new AccessError('credentials-invalid', 'The caller is not known.');
    return principal;
  },
};

const temporaryFolder = (): Promise<string> => mkdtemp(path.join(os.tmpdir(), 'tidemark-login-'));

let kept: { readonly folder: string; readonly host: Host; readonly api: Listening };
let cwd: string;
let file: string;

beforeAll(async () => {
  const folder = await temporaryFolder();
  const host = await openEmbedded({ folder: path.join(folder, 'state') });
  const api = await listenApi({ place: host, definitions: [], authenticator, host: '127.0.0.1', port: 0 });
  kept = { folder, host, api };
});
afterAll(async () => {
  await kept.api.close();
  await kept.host.close(0);
  await rm(kept.folder, { recursive: true });
});
beforeEach(async () => {
  cwd = await temporaryFolder();
  file = path.join(cwd, '.config', 'tidemark', 'contexts.json');
});
const ended: Awaited<ReturnType<typeof callCli>>[] = [];
afterEach(async () => {
  await rm(cwd, { recursive: true });
  // No credential is told, whatever was done.
  for (const { out, err } of ended.splice(0)) expect(`${out}${err}`).not.toMatch(/tk_\w+_secret/);
});

async function call(args: readonly string[], more: { stdin?: string; env?: Record<string, string> } = {}) {
  const done = await callCli(args, { cwd, ...more });
  ended.push(done);
  return done;
}
const login = (key = KEY) => call(['login', kept.api.url, '--context', 'prod', '--key', '-'], { stdin: `${key}\n` });

describe('logging in', () => {
  it('keeps the credential where its owner alone can read it, and commands ask the server from then on', async () => {
    expect((await login()).out).toMatch(/^You are key:ops, of tenant default \(operator\) at http/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const listed = await call(['ls', '--json']);
    expect([listed.code, JSON.parse(listed.out)]).toEqual([0, { api_version: 'v1', workflows: [], next_cursor: null }]);
    expect(JSON.parse((await call(['whoami', '--json'])).out)).toMatchObject({
      subject: 'key:ops',
      roles: ['operator'],
    });
    const contexts = JSON.parse((await call(['contexts', '--json'])).out);
    expect(contexts).toEqual({
      api_version: 'v1',
      contexts: [{ context: 'prod', url: kept.api.url, credential: 'key', current: true }],
    });
  });

  it('with a key that the server does not know keeps nothing', async () => {
    const refused = await login('tk_wrong_secret');
    expect([refused.code, refused.err]).toEqual([77, expect.stringContaining('not known')]);
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('keeps none for a server that asks for none, and says so', async (context) => {
    const served = { place: kept.host, definitions: [], authenticator: localAuthenticator };
    const open = await listenApi({ ...served, host: '127.0.0.1', port: 0 });
    context.onTestFinished(() => open.close());
    const { code, err } = await call(['login', open.url, '--context', 'own', '--key', '-'], {
      stdin: 'tk_bogus_secret',
    });
    expect([code, err]).toEqual([0, expect.stringMatching(/asks nobody for a credential: yours .* is not stored/)]);
    expect(await readFile(file, 'utf8')).not.toContain('tk_bogus_secret');
    expect((await call(['logout'])).out).not.toContain('API key');
  });

  it('takes no key as an argument, where everybody on the machine would see it', async () => {
    const refused = await call(['login', kept.api.url, '--key', 'word']);
    expect([refused.code, refused.err]).toEqual([64, expect.stringContaining('@file, or -')]);
  });

  it('says what is wrong with an address, and where nobody answers', async () => {
    expect((await call(['login', 'ftp://x'])).err).toContain('url: give the address');
    expect((await call(['login', 'http://user:pass@127.0.0.1:1'])).err).not.toContain('pass@');
    const away = await call(['login', 'http://127.0.0.1:9', '--key', '-'], { stdin: KEY });
    expect([away.code, away.err]).toEqual([69, expect.stringContaining('no answer from http://127.0.0.1:9')]);
  });
});

describe('a network that others can read', () => {
  it('gets no credential, neither one for the API nor one for the issuer', async () => {
    const [away, sso] = ['http://tidemark.example', 'http://sso.example'];
    const oidc = (url: string, issuer: string) => call(['login', url, '--oidc', issuer, '--client-id', DEVICE_CLIENT]);
    for (const refused of [
      await call(['login', away, '--key', '-'], { stdin: KEY }),
      await oidc(away, 'https://sso.example'),
    ]) {
      expect([refused.code, refused.err]).toEqual([78, expect.stringMatching(/in clear.*nothing was sent.*https/)]);
    }
    const issuer = await oidc(kept.api.url, sso);
    expect([issuer.code, issuer.err]).toEqual([77, expect.stringMatching(/--oidc: http:\/\/sso\.example.*https/)]);
    // An issuer on this machine that sends tokens elsewhere.
    const server = createServer((request, response) => {
      const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      response.setHeader('content-type', 'application/json');
      const endpoints = { token_endpoint: `${sso}/token`, device_authorization_endpoint: `${own}/device` };
      response.end(JSON.stringify({ issuer: own, jwks_uri: `${own}/keys`, ...endpoints, path: request.url }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const led = await oidc(kept.api.url, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      expect([led.code, led.err]).toEqual([77, expect.stringContaining('http://sso.example is not encrypted')]);
    } finally {
      server.close();
    }
    const stored = {
      version: 1,
      current: 'old',
      contexts: { old: { url: away, credential: { kind: 'key', key: KEY } } },
    };
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(stored), { mode: 0o600 });
    expect((await call(['ls'])).err).toContain('context old: its credential would cross the network in clear');
    await rm(file);
  });
});

describe('a context that is there', () => {
  it('is not replaced by another server of the same name, whose credential would be gone', async () => {
    await call(['login', kept.api.url, '--key', '-'], { stdin: KEY });
    const other = await listenApi({ place: kept.host, definitions: [], authenticator, host: '127.0.0.1', port: 0 });
    try {
      const refused = await call(['login', other.url, '--key', '-'], { stdin: READER_KEY });
      expect([refused.code, refused.err]).toEqual([78, expect.stringContaining('--context NAME')]);
      expect((await call(['whoami'])).out).toContain(`at ${kept.api.url}`);
      const named = ['login', other.url, '--context', '127.0.0.1', '--key', '-'];
      expect((await call(named, { stdin: READER_KEY })).code).toBe(0);
      expect((await call(['whoami'])).out).toContain('key:reader');
    } finally {
      await other.close();
    }
  });

  it('stays, whatever two commands change at once', async () => {
    const names = Array.from({ length: 8 }, (_, at) => `c${at}`);
    await Promise.all(
      names.map((name) => call(['login', kept.api.url, '--context', name, '--key', '-'], { stdin: KEY })),
    );
    const { contexts } = JSON.parse((await call(['contexts', '--json'])).out) as { contexts: { context: string }[] };
    expect(contexts.map(({ context }) => context).sort()).toEqual(names);
  });
});

describe('a server of another version', () => {
  it('that does not know what is asked is named with both versions', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json', 'tidemark-version': '0.0.9' });
      response.end(
        JSON.stringify({ status: 404, code: 'route-unknown', detail: 'Nothing is served at GET of this path.' }),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const refused = await call(['ls', '--json'], { env: { TIDEMARK_URL: url } });
    expect([refused.code, JSON.parse(refused.err).error]).toEqual([
      78,
      { code: 'server-differs', message: expect.stringMatching(/version 0\.0\.9 of Tidemark, this is \d/) },
    ]);
    await new Promise((resolve) => server.close(resolve));
  });

  it('says its own with each refusal', async () => {
    const answer = await fetch(`${kept.api.url}/v1/nothing`, { headers: { authorization: `Bearer ${KEY}` } });
    expect(answer.headers.get('tidemark-version')).toMatch(/^\d+\.\d+\.\d+/);
  });
});

describe('a command', () => {
  it('is refused what its role may not do, with an exit code of its own', async () => {
    await login(READER_KEY);
    const refused = await call(['pause', 'w', '--why', 'x', '--json']);
    expect([refused.code, JSON.parse(refused.err).error.code]).toEqual([77, 'right-missing']);
  });

  it('says by --by nothing to a server, which knows who asks', async () => {
    await login();
    const refused = await call(['pause', 'w', '--by', 'ana', '--why', 'x']);
    expect([refused.code, refused.err]).toEqual([64, expect.stringContaining('--by is for folders')]);
    expect((await call(['pause', 'w', '--why', 'x'])).err).toContain("No workflow has the id 'w'");
  });

  it('asks the folder that is named, whatever the context, and another context by its name', async () => {
    await login();
    await call(['login', kept.api.url, '--context', 'read', '--key', '-'], { stdin: READER_KEY });
    expect((await call(['whoami', '--context', 'prod'])).out).toContain('key:ops');
    expect((await call(['ls', '--state', 'here'])).err).toContain('No state is kept in here yet');
    expect((await call(['ls', '--state', 'here', '--context', 'prod'])).code).toBe(64);
    expect((await call(['ls', '--context', 'staging'])).err).toContain('there are prod, read');
    expect((await call(['contexts', 'use'])).code).toBe(0);
    expect((await call(['ls'])).out).toContain('nothing is kept in .tidemark yet');
  });

  it('asks the server that the environment names', async () => {
    const env = { TIDEMARK_URL: kept.api.url, TIDEMARK_TOKEN: KEY };
    expect((await call(['whoami'], { env })).out).toContain('key:ops');
    const without = await call(['whoami'], { env: { TIDEMARK_URL: kept.api.url } });
    expect(without.code).toBe(77);
    const brokers = await call(['ls'], { env: { TIDEMARK_KAFKA_BROKERS: 'localhost:9092' } });
    expect([brokers.code, brokers.err]).toEqual([78, expect.stringContaining('tidemark login URL')]);
  });
});

describe('the file of contexts', () => {
  it('is not read where others can read it, nor where it is damaged, and says no word of what is in it', async () => {
    await login();
    await chmod(file, 0o644);
    expect((await call(['ls'])).err).toContain('chmod 600');
    await chmod(file, 0o600);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.slice(0, -10));
    expect((await call(['ls'])).err).toContain('it is not JSON');
    await writeFile(file, text.replace('"key"', '"keys"'));
    const wrong = await call(['ls']);
    expect([wrong.code, wrong.err]).toEqual([78, expect.stringContaining('not as tidemark login writes it')]);
  });

  it('loses a context by logging out', async () => {
    await login();
    expect((await call(['logout'])).code).toBe(0);
    expect(await readdir(path.dirname(file))).toEqual(['contexts.json']);
    expect(await readFile(file, 'utf8')).not.toContain(KEY);
    expect((await call(['logout'])).code).toBe(78);
  });
});

describe('an issuer', () => {
  it('says who it is once somebody has typed the code, and renews its tokens', async () => {
    const issuer = await TokenIssuer.start();
    try {
      const args = ['login', kept.api.url, '--context', 'sso', '--oidc', issuer.issuer, '--client-id', DEVICE_CLIENT];
      const begun = new CalledCli(args, { cwd });
      await begun.says(/type the code (\S+)/);
      const [, code = ''] = /type the code (\S+)/.exec(begun.reported) ?? [];
      expect(await issuer.typeCode(code, 'ana')).toBe(true);
      const done = await begun.ended();
      ended.push(done);
      expect([done.code, done.out]).toEqual([0, expect.stringContaining('You are token:ana')]);
      const text = await readFile(file, 'utf8');
      const before = JSON.parse(text).contexts.sso.credential;
      // As if its time had come.
      await writeFile(file, text.replace(before.expires_at, '2020-01-01T00:00:00.000Z'), { mode: 0o600 });
      expect((await call(['whoami'])).out).toContain('token:ana');
      const after = JSON.parse(await readFile(file, 'utf8')).contexts.sso.credential;
      expect([after.access_token === before.access_token, Date.parse(after.expires_at) > Date.now()]).toEqual([
        false,
        true,
      ]);
      // What is asked at once waits for one renewal, and a command that began before takes what another has renewed.
      const due = { ...after, expires_at: before.expires_at.replace(/^\d{4}/, '2020') };
      const now = await readFile(file, 'utf8');
      await writeFile(file, now.replace(after.expires_at, due.expires_at));
      const env = { XDG_CONFIG_HOME: path.join(cwd, '.config') };
      const [first, second] = [tokenOf('sso', due, env), tokenOf('sso', due, env)] as (() => Promise<string>)[];
      const [one, other] = await Promise.all([first!(), first!()]);
      expect([other, await second!()]).toEqual([one, one]);
      // The issuer gave another one in its place, and takes this one no more.
      await writeFile(file, text.replace(before.expires_at, '2020-01-01T00:00:00.000Z'), { mode: 0o600 });
      const expired = await call(['whoami']);
      expect([expired.code, expired.err]).toEqual([77, expect.stringContaining('tidemark login --context sso')]);
      // Nor does a stream last forever with it.
      expect((await call(['watch', '--lines'])).code).toBe(77);
      await issuer.stop();
      await writeFile(file, text.replace(before.expires_at, '2020-01-01T00:00:00.000Z'), { mode: 0o600 });
      const away = await call(['whoami']);
      expect([away.code, away.err]).toEqual([69, expect.stringContaining(issuer.issuer)]);
    } finally {
      await issuer.stop();
    }
  });
});
