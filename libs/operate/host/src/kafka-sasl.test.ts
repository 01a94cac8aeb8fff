/** Settings of SASL: what is lacking, superfluous or unsafe is named, and no password is shown. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { saslFromEnv } from './kafka-sasl.ts';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-sasl-'));
  file = join(folder, 'password');
});
beforeEach(() => writeFileSync(file, 'secret one\n'));
afterAll(() => rmSync(folder, { recursive: true }));

const ON = { kafka: {} };
const OFF = { kafka: undefined };
const user = () => ({ TIDEMARK_KAFKA_USERNAME: 'tide', TIDEMARK_KAFKA_PASSWORD_FILE: file });

describe('settings of SASL', () => {
  it('none are none', () => {
    expect(saslFromEnv({ TIDEMARK_KAFKA_SASL: '' }, OFF)).toBeUndefined();
  });

  it.each(['plain', 'scram-sha-256', 'scram-sha-512'])(
    '%s: the password is read at each connection',
    async (mechanism) => {
      const sasl = saslFromEnv({ TIDEMARK_KAFKA_SASL: mechanism, ...user() }, ON);
      if (sasl === undefined || sasl.mechanism === 'oauthbearer') throw new Error('a password was expected');
      expect(sasl).toMatchObject({ mechanism, username: 'tide' });
      expect(await sasl.password()).toBe('secret one');
      writeFileSync(file, 'secret two');
      expect(await sasl.password()).toBe('secret two');
    },
  );

  it.each([
    ['oauthbearer', () => ({ ...user(), TIDEMARK_KAFKA_TOKEN_URL: 'https://idp.example/token' })],
    ['aws-msk-iam', () => ({ TIDEMARK_KAFKA_AWS_REGION: 'eu-west-1' })],
  ])('%s gives tokens', (mechanism, more) => {
    expect(saslFromEnv({ TIDEMARK_KAFKA_SASL: mechanism, ...more() }, ON)).toMatchObject({ mechanism: 'oauthbearer' });
  });

  it.each([
    ['a user without a mechanism', () => user(), /USERNAME is set, and TIDEMARK_KAFKA_SASL isn't/],
    [
      'an unknown mechanism',
      () => ({ TIDEMARK_KAFKA_SASL: 'gssapi' }),
      /expected plain, scram-sha-256, scram-sha-512, oauthbearer, aws-msk-iam/,
    ],
    [
      'no user',
      () => ({ TIDEMARK_KAFKA_SASL: 'plain' }),
      /needs TIDEMARK_KAFKA_USERNAME and TIDEMARK_KAFKA_PASSWORD_FILE/,
    ],
    [
      'a region too many',
      () => ({ TIDEMARK_KAFKA_SASL: 'plain', ...user(), TIDEMARK_KAFKA_AWS_REGION: 'x' }),
      /AWS_REGION means nothing/,
    ],
    [
      'a token from nowhere',
      () => ({ TIDEMARK_KAFKA_SASL: 'oauthbearer', ...user() }),
      /needs TIDEMARK_KAFKA_TOKEN_URL/,
    ],
    [
      'an address with a password',
      () => ({ TIDEMARK_KAFKA_SASL: 'oauthbearer', ...user(), TIDEMARK_KAFKA_TOKEN_URL: 'https://u:secret@idp/' }),
      /TOKEN_URL: expected https/,
    ],
  ])('%s is refused by name', (_, env, said) => {
    expect(() => saslFromEnv(env(), ON)).toThrow(said);
    expect(() => saslFromEnv(env(), ON)).not.toThrow(/secret/);
  });

  it('a file that is missing or empty is named', () => {
    const gone = { ...user(), TIDEMARK_KAFKA_SASL: 'plain', TIDEMARK_KAFKA_PASSWORD_FILE: `${file}.gone` };
    expect(() => saslFromEnv(gone, ON)).toThrow(/PASSWORD_FILE: .*password\.gone can't be read \(ENOENT\)/);
    writeFileSync(file, '\n');
    expect(() => saslFromEnv({ ...user(), TIDEMARK_KAFKA_SASL: 'plain' }, ON)).toThrow(/is empty/);
  });

  it('what would send a secret in clear needs TLS, or a word that the network is safe', () => {
    const plain = { ...user(), TIDEMARK_KAFKA_SASL: 'plain' };
    expect(() => saslFromEnv(plain, OFF)).toThrow(/in clear without TLS: set TIDEMARK_KAFKA_TLS=on/);
    expect(saslFromEnv({ ...plain, TIDEMARK_KAFKA_TLS: 'off' }, OFF)).toMatchObject({ mechanism: 'plain' });
    expect(saslFromEnv({ ...plain, TIDEMARK_KAFKA_SASL: 'scram-sha-512' }, OFF)).toMatchObject({ username: 'tide' });
  });
});
