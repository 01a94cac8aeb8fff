/** Owns a corpus of secrets that must be found, and of similar texts that must pass. No secret is written here in one piece. */

import { createHash } from 'node:crypto';
import { leastCpuMs } from '@tidemark/testkit/cpu-time';
import { describe, expect, it } from 'vitest';
import { findSecrets, isGuess, maskedValue, maskSecrets, secretPlaces } from './find-secrets.ts';

/** Letters and digits as a generator makes them; the same in every run. */
const MADE = ['q7Zr2mX9wK4v', 'B8nT1cJ6yH3d', 'F5gL0sPaRe7U', 'x2Vb9QkM4oWj', 'N6tE1zYh8CiG'].join('').repeat(3);
const made = (count: number): string => MADE.slice(0, count);
const hex = (text: string, algorithm = 'sha256'): string => createHash(algorithm).update(text).digest('hex');
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const SEED = `TIDEMARK_TEST_SEED=${process.env.TIDEMARK_TEST_SEED}`;
/** Bytes that look random and follow from the run's seed. */
let drawnCount = 0;
const drawn = (outputLength: number): Buffer =>
  createHash('shake256', { outputLength }).update(`${SEED} ${drawnCount++}`).digest();
const drawnUuid = (): string =>
  drawn(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const BAD: readonly (readonly [kind: string, text: string])[] = [
  ['aws-access-key', `AK${'IA'}QWERTYUIOPASDFGH`],
  ['password', `AWS_SECRET_ACCESS_KEY${'='}${made(40)}`],
  ['high-entropy', made(40)],
  ['tidemark-key', `tm${'k_'}${'q4mz'.repeat(4)}_${'k7wd'.repeat(13)}`],
  ['github-token', `gh${'p_'}${made(36)}`],
  ['github-token', `push with gh${'s_'}${made(40)} please`],
  ['github-token', `github_${'pat_'}${made(22)}_${made(50)}`],
  ['gitlab-token', `gl${'pat-'}${made(20)}`],
  ['slack-token', `xox${'b-'}123456789012-1234567890123-${made(24)}`],
  ['webhook', `https://hooks.${'slack.com'}/services/T0123ABCD/B0123ABCD/${made(24)}`],
  ['stripe-key', `sk_${'live_'}${made(24)}`],
  ['model-provider-key', `sk-${'proj-'}${made(48)}`],
  ['model-provider-key', `sk-${'ant-api03-'}${made(60)}-AA`],
  ['google-key', `AI${'za'}${made(35)}`],
  ['npm-token', `//registry/:_authToken=npm${'_'}${made(36)}`],
  ['hugging-face-token', `hf${'_'}${made(34)}`],
  ['sendgrid-key', `SG${'.'}${made(22)}.${made(43)}`],
  ['jwt', `${base64url({ alg: 'HS256' })}.${base64url({ sub: '1', name: 'Ann' })}.${made(43)}`],
  ['private-key', `-----BEGIN RSA ${'PRIVATE'} KEY-----\n${made(64)}\n-----END RSA ${'PRIVATE'} KEY-----`],
  ['private-key', `-----BEGIN OPENSSH ${'PRIVATE'} KEY-----`],
  ['connection-string', `postgres://tide:${'hunter2'}@db.example:5432/app`],
  ['connection-string', `redis://:${'hush-hush'}@cache`],
  ['connection-string', `redis://ana:${'hush@hush'}@cache`],
  ['connection-string', `mongodb+srv://app:${'s3cr%40t'}@cluster0.example.net/db`],
  ['authorization-header', `curl -H 'Authorization: ${'Bearer'} ${made(32)}'`],
  ['authorization-header', `Authorization: ${'Basic'} dXNlcjpwYXNz`],
  ['password', `db_password${'='}correcthorse`],
  ['password', `--password${'='}"Tr0ub4dor and 3"`],
  ['password', `PGPASSWORD${'='}hunter22 psql`],
  ['password', `password: ${'Tr0ub4dor'}`],
  ['token', `api_key: ${'live12345678'}`],
  ['token', `{"access_token":"${'tok'}12345678"}`],
  ['token', `api_key: ${'12345678'}`],
  ['token', `API_KEY${'='}123456`],
  ['token', `auth-token: "${'4815162342'}"`],
  ['password', `password: ${'1234'}`],
  ['password', `db_password${'='}a1b2`],
  ['password', `the password is ${'hunter2'}.`],
  ['password', `I set the password to ${"'Tr0ub4dor'"}`],
  ['high-entropy', `pi_3${made(23)}_secret_${made(25)}`],
  ['high-entropy', `tok_1${made(23)}`],
];

const GOOD: readonly string[] = [
  '',
  'Two findings in src/a.ts; the password is required and the token budget is 8000.',
  'password: required',
  'tokens=8000 max_tokens: 4096',
  'secrets are refused',
  'PWD=/home/ann/projects OLDPWD=/home/ann',
  'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  `wf_${'01ARZ3NDEKTSV4RRFFQ69G5FAV'}`,
  '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  hex('a'),
  `sha256:${hex('a')}`,
  hex('a', 'sha1'),
  hex('a', 'md5'),
  `sha512-${createHash('sha512').update('a').digest('base64')}`,
  `h1:${createHash('sha256').update('a').digest('base64')}`,
  `data:image/png;base64,${Buffer.from(MADE).toString('base64')}`,
  `iVBORw0KGgo${made(90)}`,
  `-----BEGIN CERTIFICATE-----\n${made(64)}\n${made(64)}\n-----END CERTIFICATE-----`,
  `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5${made(48)} ann@host`,
  '/home/ann/projects/tidemark/libs/author/repo-state/src/find-secrets.test.ts',
  'node_modules/@node-rs/crc32-linux-x64-gnu/package.json',
  './dist/assets/index-2026.11.22.chunk.min.js.map',
  'https://docs.example.com/document/d/1A2b3C4d5E6f7G8h9I0jKlMnOpQrStUv/edit',
  'postgres://db.example:5432/app',
  ['postgres://app:', '@db.example:5432/app'].join('$'.concat('{DB_PASSWORD}')),
  ['postgres://app:', '@db.example:5432/app'].join('<password>'),
  'password=process.env.DB_PASSWORD',
  'api_key: $OPENAI_API_KEY',
  'const token = readToken(request)',
  'Authorization: Bearer $TOKEN',
  'token=vault:kv/data/app#token',
  'ThisIsAVeryLongClassNameForTestsAndItsFactoryProvider',
  'add_index_to_users_on_email_and_created_at_20261122083000',
  '2026-11-22T08:29:31.000Z 20261122T082931Z',
  'sk-learn-and-other-libraries-with-long-names',
  'audit-tidemark-970f8d74c1-1',
  '@node-rs/crc32-win32-arm64-msvc',
  'risk-assessment-of-the-quarterly-report',
  // Ids of services.
  ...['price_1', 'ch_3', 'pi_3', 'sub_1', 'in_1', 'evt_1', 'acct_1', 'cs_test_'].map((id) => `${id}${made(23)}`),
  ...['prod_', 'cus_'].map((id) => `${id}${made(14)}`),
  ...['chatcmpl-', 'call_', 'toolu_01', 'msg_01', 'req_01', 'run_', 'thread_', 'asst_'].map((id) => `${id}${made(24)}`),
  ...['user_2', 'org-', 'proj_'].map((id) => `${id}${made(24)}`),
  ...['C', 'U', 'T', 'W', 'G'].map((id) => `${id}0123ABC4DE in Slack`),
  '1700000000.123456',
  ...['AC', 'SM', 'MM', 'PN', 'CA', 'VA'].map((id) => `${id}${hex('a', 'md5')}`),
  ...['i', 'eni', 'vpc', 'subnet', 'sg', 'vol', 'ami', 'rtb'].map((id) => `${id}-0${hex('a').slice(0, 16)}`),
  ...['AIDA', 'AROA', 'AGPA', 'ANPA'].map((id) => `${id}Q3EGRX7K2MZT4WBLU`),
  'Z08683012VGQX5TPLB7KD',
  'db-ABCDEFGH1JKLMN2PQRST3UVWXY',
  'arn:aws:iam::123456789012:role/service-role/AppRole-1A2B3C4D5E6F7G8H',
  `arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-${made(6)}`,
  `arn:aws:states:us-east-1:123456789012:execution:job:${made(30)}`,
  'f81d4fae7dec11d0a76500a0c91e6bf6 F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6 {f81d4fae-7dec-11d0-a765-00a0c91e6bf6}',
  'user_01h455vb4pex5vsknk084sn02q',
  // Sentences and settings about passwords and keys.
  'the password is required, and is at least 12 characters long',
  'the password is base64-encoded and was sha256-hashed',
  'password: 8 to 64 characters',
  'access_key: 2026-11-22 rotated',
  'api_key: none',
  'token: 8000, session_token: 3600',
  'next_token: CAUQAA12345 page-token=b2Zmc2V0OjEw',
];

describe('the search for secrets', () => {
  it.each(BAD)('finds %s', (kind, text) => {
    expect(findSecrets({ notes: [{ text }] })).toContainEqual({ place: '/notes/0/text', kind });
    const masked = maskSecrets(text);
    expect(masked).toContain('[masked ');
    expect(findSecrets(masked)).toEqual([]);
  });

  it.each(GOOD)('lets pass: %s', (text) => {
    expect(findSecrets({ text })).toEqual([]);
    expect(maskSecrets(text)).toBe(text);
  });

  it(`finds random tokens of no known form, nearly all of them (${SEED})`, () => {
    const forms = [
      () => drawn(18).toString('base64'),
      () => drawn(30).toString('base64'),
      () => drawn(24).toString('base64url'),
      () =>
        drawn(90)
          .toString('base64')
          .replaceAll(/[^A-Za-z0-9]/g, '')
          .slice(0, 32),
    ];
    for (const form of forms) {
      const found = Array.from({ length: 1_000 }, form).filter((token) => findSecrets(token).length > 0);
      expect(found.length).toBeGreaterThan(940);
    }
  });

  it(`lets pass digests and ids, all of them (${SEED})`, () => {
    const forms = [
      () => drawnUuid(),
      () => drawn(32).toString('hex'),
      () => `run-${drawn(5).toString('hex')}-1`,
      () => `sha512-${drawn(64).toString('base64')}`,
    ];
    for (const form of forms) {
      for (const text of Array.from({ length: 1_000 }, form)) expect(findSecrets(`see ${text}.`)).toEqual([]);
    }
  });

  it('knows by its name what only a name tells', () => {
    const place = '/db_password';
    expect(findSecrets({ db_password: 'correcthorse' })).toEqual([{ place, kind: 'password' }]);
    expect(findSecrets({ clientSecret: 'correcthorse', apiKey: 'aaaaaaaa' })).toHaveLength(2);
    expect(findSecrets({ apiKey: 'process.env.API_KEY', password: '***', tokens: 'aaaaaaaa', secret: false })).toEqual(
      [],
    );
    expect(findSecrets({ password: 12345678, pin: 12345678, apiKey: 123456, token: 12345678 })).toHaveLength(2);
    expect(findSecrets({ password: '1234', token: '1234' })).toEqual([{ place: '/password', kind: 'password' }]);
    expect(findSecrets({ password: 'is kept in the vault' })).toEqual([]);
  });

  it('names places as JSON pointers, and never a value', () => {
    const token = `gh${'p_'}${made(36)}`;
    const found = findSecrets({ 'a/b~c': [1, token], [token]: { deep: token } });
    expect(found).toEqual([
      { place: '/a~1b~0c/1', kind: 'github-token' },
      { place: '/(a key)', kind: 'github-token' },
      { place: '/(a key)/deep', kind: 'github-token' },
    ]);
    expect(JSON.stringify(found) + secretPlaces(found)).not.toContain(token.slice(0, 12));
    expect(secretPlaces(found)).toBe(
      '/a~1b~0c/1 (github-token), /(a key) (github-token), /(a key)/deep (github-token)',
    );
  });

  it('masks the secret and leaves what is around it', () => {
    const token = `gh${'p_'}${made(36)}`;
    expect(maskSecrets(`push with ${token}, then wait`)).toBe('push with [masked github-token], then wait');
    expect(maskSecrets(`a=1 password${'='}hunter22 b=2`)).toBe('a=1 password=[masked password] b=2');
  });

  it('knows the word token from the name of one', () => {
    expect(findSecrets([{ token: 'Europe' }, { token: 'correcthorse' }, { nextToken: 'CAUQAA12' }])).toEqual([]);
    expect(findSecrets({ sessionToken: 'correcthorse', token: 'live12345678' })).toHaveLength(2);
  });

  it('masks data in its places, and what its name tells of as a whole', () => {
    const token = `gh${'p_'}${made(36)}`;
    const options = { isExempt: (text: string) => text === 'kept', isMasked: (kind: string) => !isGuess(kind) };
    const random = made(40);
    const value = { a: [`push ${token}`, random], apiKey: 123456, b: { password: 'kept', secret: 'correcthorse' } };
    const masked = maskedValue(value, options);
    expect(masked).toEqual({
      a: ['push [masked github-token]', random],
      apiKey: '[masked password]',
      b: { password: 'kept', secret: '[masked password]' },
    });
    expect(maskedValue(masked, options)).toBe(masked);
  });

  it('finds the same wherever in a text it stands', () => {
    for (const [kind, text] of BAD) {
      for (const before of ['', '\n', 'word '.repeat(7), `${'-'.repeat(19)} `, 'é '.repeat(21)]) {
        expect(findSecrets(`${before}${text}`)).toContainEqual({ place: '', kind });
      }
    }
  });

  it('does not pass what it can not look at', () => {
    let deep: unknown = 'x';
    for (let level = 0; level < 1_000; level += 1) deep = [deep];
    expect(findSecrets(deep)).toEqual([{ place: expect.any(String), kind: 'too-deep-to-search' }]);
  });

  it('tells where it stopped looking, and passes nothing silently', () => {
    const tooLarge = { place: expect.any(String), kind: 'too-large-to-search' };
    expect(findSecrets({ a: 'word '.repeat(1_000_000) })).toEqual([tooLarge]);
    expect(findSecrets(new Array(1_500_000).fill(0))).toEqual([tooLarge]);
    expect(findSecrets([{ ['k'.repeat(5_000_000)]: 1 }])).toEqual([tooLarge]);
    const many = findSecrets(Array.from({ length: 1_200 }, () => `gh${'p_'}${made(36)}`));
    expect(many).toHaveLength(1_000);
    expect(many.at(-1)).toEqual(tooLarge);
    expect(maskSecrets('word '.repeat(1_000_000))).toBe('[masked too-large-to-search]');
    const [long] = findSecrets({ ['k/'.repeat(5_000)]: `gh${'p_'}${made(36)}` });
    expect(long!.place.length).toBeLessThan(300);
  });

  const token = `gh${'p_'}${made(36)} `;
  /** A size gives a value of this many characters. */
  const WORST: readonly (readonly [string, (chars: number) => unknown])[] = [
    ...[
      ...['a', '-', 'eyJ', 'a://', 'password', 'a_', 'arn:aws:s3:', 'user_', 'password is ', 'api_key=', 'secret:'],
      ...['-----BEGIN ', `-----BEGIN ${'PRIVATE'} KEY-----`, token, `password${'='}hunter22 `, 'aB3'],
    ].map((unit) => [unit, (chars: number) => unit.repeat(chars / unit.length)] as const),
    ['a long key', (chars) => ({ [`${'aB'.repeat(chars / 2)}!`]: 'x' })],
    [
      'a long key of a list',
      (chars) => ({ [`${'aB'.repeat(chars / 4)}!`]: Array.from({ length: chars / 8 }, () => 'x') }),
    ],
    ['many keys', (chars) => Array.from({ length: chars / 12 }, () => ({ aBaBaBaB: 'x' }))],
    ['punctuation behind a name', (chars) => ({ password: `a${'-'.repeat(chars)}` })],
  ];

  it.each(WORST)('takes time in proportion to the text: %s', (_what, worst) => {
    const [small, large] = [worst(16_000), worst(128_000)];
    // Eight times the input takes about eight times as long; 64 times if it were quadratic.
    const linearMs =
      24 *
      Math.max(
        leastCpuMs(() => findSecrets(small)),
        2,
      );
    expect(leastCpuMs(() => findSecrets(large), linearMs)).toBeLessThanOrEqual(linearMs);
  });
});
