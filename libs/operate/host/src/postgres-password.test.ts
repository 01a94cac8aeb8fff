/** Settings of Postgres's password: what contradicts itself is named, each way is asked at each connection, and none is shown. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { postgresPassword } from './postgres-password.ts';

const URL = 'postgres://tide@db.example:6000/tide';
const TLS = {};
let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-password-'));
  file = join(folder, 'password');
  writeFileSync(file, 'secret one\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

const BY = {
  file: () => ({ TIDEMARK_POSTGRES_PASSWORD_FILE: file }),
  command: () => ({ TIDEMARK_POSTGRES_PASSWORD_COMMAND: `cat '${file}'` }),
};

it('none is none, and leaves that of the address', () => {
  expect(postgresPassword({}, `postgres://tide:${file.length}@db/tide`, undefined)).toBeUndefined();
});

it.each(['file', 'command'] as const)('a %s is asked each time', async (how) => {
  const password = postgresPassword(BY[how](), URL, undefined)!;
  for (const secret of ['secret one', 'secret two']) {
    writeFileSync(file, `${secret}\n`);
    expect(await password()).toBe(secret);
  }
});

it.each([
  ['two ways', () => ({ ...BY.file(), ...BY.command() }), URL, TLS, /_FILE and .*_COMMAND are set: each says/],
  ['a password in the address too', BY.file, 'postgres://tide:hunter2@db/tide', TLS, /URL has a password/],
  ['no user', BY.file, 'postgres://db/tide', TLS, /names no user/],
  ['a missing file', () => ({ TIDEMARK_POSTGRES_PASSWORD_FILE: '/none' }), URL, TLS, /\/none can't be read \(ENOENT\)/],
  ['a token in clear', () => ({ TIDEMARK_POSTGRES_AWS_REGION: 'eu-west-1' }), URL, undefined, /over TLS alone/],
])('%s is refused', (_what, env, url, tls, said) => {
  expect(() => postgresPassword(env(), url, tls)).toThrow(said);
  expect(() => postgresPassword(env(), url, tls)).not.toThrow(/hunter2|secret/);
});

it.each([
  ['echo hunter2; exit 3', /COMMAND ended with 3/],
  ['true', /prints nothing/],
])('a command that fails says how, and nothing of what it printed: %s', async (command, said) => {
  const asked = postgresPassword({ TIDEMARK_POSTGRES_PASSWORD_COMMAND: command }, URL, undefined)!();
  await expect(asked).rejects.toThrow(said);
  await expect(asked).rejects.not.toThrow(/hunter2/);
});

it("RDS's token is signed for the user and the host with its port", async () => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'akid', AWS_SECRET_ACCESS_KEY: 'skid' });
  const token = await postgresPassword({ TIDEMARK_POSTGRES_AWS_REGION: 'eu-west-1' }, URL, TLS)!();
  expect(token).toMatch(/^db\.example:6000\/\?Action=connect&DBUser=tide&.*akid%2F\d{8}%2Feu-west-1%2Frds-db/);
});
