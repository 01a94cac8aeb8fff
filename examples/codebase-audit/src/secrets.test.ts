// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates are source text to be parsed.
import { describe, expect, it } from 'vitest';
import { parseFile } from './facts/parse-file.ts';
import { credentialName, isCredentialValue, knownSecrets, Redactor } from './secrets.ts';

// Put together here, so that no scanner takes this file for one with secrets in it.
const digits = (count: number) => 'q7Zr2mX9wK4vB8nT1cJ6yH3dF5gL0sPaRe'.repeat(3).slice(0, count);
const AWS = `AKIA${'Q7ZR2MX9WK4VB8NT'}`;
const GITHUB = `ghp_${digits(36)}`;
const MODEL = `sk-${'proj'}-${digits(40)}`;
const PEM = `-----BEGIN RSA ${'PRIVATE'} KEY-----`;
const PASSWORD = `Tr0ub4dor${'&'}3x`;

const audited = (text: string, path = 'file.ts') => parseFile(path, new TextEncoder().encode(text)).findings;
const severities = (text: string, path?: string) => audited(text, path).map(({ severity }) => severity);

describe('known formats', () => {
  it.each([
    AWS,
    GITHUB,
    MODEL,
    `xoxb-${digits(24)}`,
    `AIza${digits(35)}`,
    `glpat-${digits(20)}`,
    `sk_live_${digits(24)}`,
  ])('are found in literals, templates and comments', (key) => {
    for (const text of [`f('${key}')`, `const x = \`a ${key} b\``, `// ${key}`, `/* ${key} */`]) {
      expect(audited(text)).toMatchObject([{ rule: 'hard-coded-credential', severity: 'high', line: 1 }]);
    }
  });

  it('are not seen in words that merely begin alike, or in examples', () => {
    const words = [
      'sk-learn-is-a-library-for-python',
      'AKIAIOSFODNN7EXAMPLE',
      `ghp_${'x'.repeat(36)}`,
      'npm_config_registry',
    ];
    for (const word of words) expect(audited(`const x = '${word}';`)).toEqual([]);
  });

  it('a private key counts by its body', () => {
    expect(severities(`const key = \`${PEM}\n${digits(64)}\n\`;`)).toEqual(['high']);
    expect(severities(`const key = '${PEM}\\n' +\n '${digits(64)}';`)).toEqual(['high']);
    expect(severities(`if (text.startsWith('${PEM}')) parse(text);`)).toEqual(['low']);
  });

  it('a password in an address, unless it is the user or a stand-in', () => {
    expect(severities(`connect('postgres://app:${PASSWORD}@db/x')`)).toEqual(['medium']);
    for (const password of ['tidemark', 'password', '<password>', 'secret123']) {
      expect(audited(`connect('postgres://tidemark:${password}@db/x')`)).toEqual([]);
    }
    expect(audited('connect(`postgres://${user}:${password}@db/x`)')).toEqual([]);
  });
});

describe('names that hold credentials', () => {
  it.each([
    'password',
    'dbPassword',
    'DB_PASSWORD',
    'apiKey',
    'API_KEY',
    'x-api-key',
    'clientSecret',
    'authToken',
    'accessToken',
    'privateKey',
    'secretValue',
    'tokenProd',
  ])('%s does', (name) => expect(credentialName(name)).not.toBe('none'));
  it.each([
    'tokenType',
    'passwordField',
    'secretName',
    'tokenize',
    'passwordHash',
    'keyboard',
    'key',
    'bypass2fa',
    'tokens',
    'compass',
    'publicKey',
  ])('%s does not', (name) => expect(credentialName(name)).toBe('none'));
});

describe('values', () => {
  it.each([PASSWORD, digits(20), `${digits(8)}-${digits(8)}-x1`])('%s may be one', (value) => {
    expect(isCredentialValue(value, 'password')).toBe(true);
  });
  it.each([
    ...[
      'password',
      'changeme',
      'hunter2',
      'Passw0rd!',
      'test1234',
      'secret-token',
      'your-api-key-here',
      '<token>',
      'xxxxxxxxxxxx',
    ],
    ...[
      'auth.password.title',
      'DATABASE_PASSWORD',
      'Wrong password, try again',
      '#password',
      '/run/secrets/db',
      './secret.txt',
    ],
    ...['https://example.org/token', 'short1!', 'aaaaaaaaaaaa', 'currentPassword', '$2b$10$', '{{password}}'],
  ])('%s is none', (value) => expect(isCredentialValue(value, 'password')).toBe(false));
});

describe('hard-coded credentials by name', () => {
  it.each([
    ['a constant', `const dbPassword = '${PASSWORD}';`],
    ['a property', `f({ api_key: '${digits(24)}' });`],
    ['a quoted property', `f({ 'x-auth-token': "${digits(24)}" });`],
    ['an assignment to a member', `config.client.secret = '${digits(24)}';`],
    ['a class field', `class A { #password = '${PASSWORD}' }`],
    ['a default', `function f(password = '${PASSWORD}') {}`],
    ['a comparison', `if (password === '${PASSWORD}') open();`],
    ['a cast', `const apiKey = '${digits(24)}' as string;`],
    ['a template', `const apiKey = \`${digits(24)}\`;`],
  ])('%s', (_, text) => expect(severities(text)).toEqual(['high']));

  it('a fallback counts less, a test least', () => {
    expect(severities(`const secret = process.env.SECRET ?? '${digits(24)}';`)).toEqual(['medium']);
    expect(severities(`const password = '${PASSWORD}';`, 'src/login.test.ts')).toEqual(['low']);
  });

  it.each([
    'const password = process.env.PASSWORD;',
    "const password = process.env.PASSWORD ?? '';",
    "const token = 'function';",
    "const token = '?InterpolationInTemplate';",
    "const headers = { token: 'x-csrf-token', password: 'auth.password.label' };",
    "const passwordLabel = 'Pa55 w0rd is too short!';",
    "enum Token { Password = 'password-token-kind' }",
    'const secret = await vault.read("db/creds/Pr0d1");',
    'const apiKey = `${prefix}-0123456789abcdefQ`;',
  ])('nothing in %s', (text) => expect(audited(text)).toEqual([]));
});

describe('masking', () => {
  it('shows no part of a secret anywhere in the facts', () => {
    const secrets = [AWS.slice(4), GITHUB.slice(4), MODEL.slice(8), PASSWORD, digits(30)];
    const text = `
      import { exec } from 'child_process';
      import x from 'https://user:${PASSWORD}@host.example/x.js';
      const apiKey = '${digits(30)}';
      const dbPassword = '${PASSWORD}';
      exec(\`curl -H "Authorization: Bearer ${GITHUB}" -u app:${PASSWORD} --token=${digits(30)} \${url}\`);
      eval("key('${MODEL}')" + '${AWS}' + more);
      setTimeout('${'x '.repeat(235)}${GITHUB} ' + more);
      const pem = \`${PEM}\n${digits(64)}\`;
    `;
    const facts = JSON.stringify(parseFile('file.ts', new TextEncoder().encode(text)));
    for (const secret of secrets) {
      for (let start = 0; start + 6 <= secret.length; start++)
        expect(facts).not.toContain(secret.slice(start, start + 6));
    }
    expect(facts).toContain('AKIA[masked]');
    expect(facts.match(/"rule":"shell-command"/g)).toHaveLength(1);
  });

  it('masks a value as it is written as well as what it means', () => {
    const facts = audited(String.raw`const password = 'Tr0ub\x34dor&3x'; eval('Tr0ub\x34dor&3x' + y);`);
    expect(JSON.stringify(facts)).not.toContain('dor&3x');
  });

  it('leaves ordinary text alone', () => {
    const redactor = new Redactor();
    const lines = [
      'spawn("npm", ["run", "build"])',
      'token: string',
      'createProviderDefinedToolFactory(options)',
      'a/long/path/to/some/module-2/index.ts',
    ];
    for (const line of lines) expect(redactor.redact(line)).toBe(line);
  });

  it('finds known secrets in order', () => {
    expect(knownSecrets(`${GITHUB} ${AWS}`).map(({ name }) => name)).toEqual(['GitHub token', 'AWS access key id']);
  });
});

describe('a file full of secrets', () => {
  it('takes no longer than its size warrants', () => {
    const line = (index: number) =>
      `f('AKIA${String(index).padStart(6, '0')}${'Q7ZR2MX9WK'}'); const dbPassword${index}Prod = 'q7Z&${index}xvTr';\n`;
    /** Processor time, in milliseconds, of a file of so many lines. */
    const parseTime = (lineCount: number): number => {
      const text = new TextEncoder().encode(Array.from({ length: lineCount }, (_, index) => line(index)).join(''));
      const before = process.cpuUsage();
      const facts = parseFile('file.ts', text);
      const { user } = process.cpuUsage(before);
      expect(facts.findings.length + (facts.cut?.findings ?? 0)).toBeGreaterThanOrEqual(lineCount);
      return user / 1_000;
    };
    parseTime(1_000);
    // Eight times the size takes about eight times as long; what is quadratic would take 64 times.
    const small = Math.min(parseTime(1_250), parseTime(1_250), parseTime(1_250));
    expect(parseTime(10_000)).toBeLessThan(32 * small);
  });
});
