import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { EDGES } from '@tidemark/client/declared-edges';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callCli } from '../called-cli-fixture.ts';
import { Terminal } from '../terminal.ts';
import { makeProgram } from './program.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-'));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

const MODULE = path.resolve(import.meta.dirname, '../../fixtures/agents.ts');
const ADVISED = path.resolve(import.meta.dirname, '../../fixtures/advised.ts');

const call = (args: readonly string[], given: Omit<CallOptions, 'cwd'> = {}) => callCli(args, { cwd, ...given });

describe('usage', () => {
  it.each([
    [[], /name a command/],
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['ls', '--frobnicate'], /unknown option '--frobnicate'/],
    [['ls', '--status', 'sleeping'], /Allowed choices are open, parked, compensating, compensated, completed, failed;/],
    [['ls', '--limit', '0'], /whole number from 1 to 10000/],
    [['ls', '--limit', '1e3'], /whole number/],
    [['dev', '--port', 'many'], /whole number/],
    [['dev', '--otlp', 'localhost:4318'], /Give the address of a collector: http:/],
    [['show'], /missing required argument 'id'/],
    [['approve', 'x', '--by', 'Ada'], /required option '--why <text>'/],
    [['approve', 'x', '--by', 'Ada', '--why', 'y', '--as', 'fail'], /choices are retry, done, not-done, compensate;/],
    [['confirm', 'x'], /missing required argument 'token'/],
    [['signal', 'x'], /missing required argument 'name'/],
    [['run', '--workflows', 'a.ts', 'greet'], /name it before --workflows/],
    [['ls', 'stray'], /too many arguments/],
    [['schedule', 'show', 'x'], /^error: unknown command 'show'; tidemark schedule --help lists them$/m],
  ])('%j is refused with 64', async (args, message) => {
    const { code, out, err } = await call(args);
    expect(code).toBe(64);
    expect(out).toBe('');
    expect(err).toMatch(message);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  it('tells programs as JSON', async () => {
    const { code, out, err } = await call(['frobnicate', '--json']);
    expect([code, out]).toEqual([64, '']);
    expect(JSON.parse(err)).toEqual({ error: { code: 'usage', message: expect.stringContaining('frobnicate') } });
  });

  it('shows help on standard output, with the exit codes', async () => {
    const { code, out } = await call(['--help']);
    expect(code).toBe(0);
    for (const text of ['dev', 'run', 'ls', 'show', 'watch', 'admin', '78', '130']) expect(out).toContain(text);
  });
});

it('has each option that a command needs in its usage line', async () => {
  const terminal = new Terminal({ stdout: process.stdout, stderr: process.stderr, env: {}, json: false });
  const program = makeProgram(
    { does: () => async () => {}, asks: () => async () => {} },
    { terminal, env: {}, cwd, stdin: process.stdin },
  );
  const all = (command: CommandUnknownOpts): readonly CommandUnknownOpts[] => [
    command,
    ...command.commands.flatMap((each) => all(each)),
  ];
  const needed = all(program).flatMap((command) =>
    command.options.flatMap(({ mandatory, long }) => (mandatory ? [{ command, long }] : [])),
  );
  expect(needed.length).toBeGreaterThan(20);
  for (const { command, long } of needed) {
    expect(command.helpInformation().split('\n\n')[0]).toContain(`${long} <`);
  }
  expect((await call(['queues', 'pause', '--help'])).out).toMatch(
    /^Usage: tidemark queues pause \[options\] <workflow> --why <text>$/m,
  );
  expect((await call(['memory', 'list', '--help'])).out).toMatch(/ \(--user <name> \| --about <subject>\)$/m);
});

it('has every command that is declared beside an operation: name one in program.ts', () => {
  const terminal = new Terminal({ stdout: process.stdout, stderr: process.stderr, env: {}, json: false });
  const program: CommandUnknownOpts = makeProgram(
    { does: () => async () => {}, asks: () => async () => {} },
    { terminal, env: {}, cwd, stdin: process.stdin },
  );
  const isThere = (name: string): boolean =>
    name
      .split(' ')
      .reduce<CommandUnknownOpts | undefined>(
        (at, word) => at?.commands.find((each) => each.name() === word),
        program,
      ) !== undefined;
  const declared = EDGES.flatMap(({ commands = [] }) => commands.map(({ name }) => name));
  expect(declared.length).toBeGreaterThan(20);
  expect(declared.filter((name) => !isThere(name))).toEqual([]);
});

it('has each command in the table of its page', async () => {
  const terminal = new Terminal({ stdout: process.stdout, stderr: process.stderr, env: {}, json: false });
  const program: CommandUnknownOpts = makeProgram(
    { does: () => async () => {}, asks: () => async () => {} },
    { terminal, env: {}, cwd, stdin: process.stdin },
  );
  const page = await readFile(path.resolve(import.meta.dirname, '../../../../../docs/cli.md'), 'utf8');
  const table = page.slice(0, page.indexOf('\n## '));
  expect(program.commands.map((each) => each.name()).filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
});

describe('a value of 3,000 characters', () => {
  const long = 'x'.repeat(3_000);
  it.each([
    [64, [long]],
    [64, ['show', 'w', long]],
    [64, ['ls', '--status', long]],
    [64, ['ls', '--tag', long]],
    [64, ['queues', 'pause', long, '--why', 'y']],
    [78, ['show', long]],
    [78, ['ls', '--state', long]],
    [65, ['run', long, '--workflows', MODULE]],
    [78, ['run', 'greet', `--workflows=./${long}.ts`]],
    [65, ['run', 'greet', '--input', `@${long}`]],
    [78, ['ls', '--context', long]],
    [78, ['login', long]],
  ])('is not quoted whole: %i', async (code, args) => {
    const { code: ended, err } = await call(args);
    expect([ended, err.length]).toEqual([code, expect.toSatisfy((length: number) => length < 1_000)]);
  });
});

describe('wrong input in an empty folder', () => {
  const wrong: readonly (readonly [code: number, line: string])[] = [
    [65, 'budget set'],
    [65, 'budget set --tokens 5'],
    [65, 'budget raise w --why y'],
    [65, 'budget raise w --usd 0.0000001 --why y'],
    [64, 'retention set --warm 3d'],
    [64, 'memory remember hi'],
    [64, 'memory recall hi --user u --about tenant'],
    [64, 'memory list'],
    [64, 'memory forget k'],
    [65, 'user set --user u k [bad'],
    [65, 'user set --user u k -'],
    [65, 'schedule set s w --cron * --input {bad'],
    [65, 'schedule set s w --cron * --input -'],
    [65, 'session resume s --input {bad'],
    [65, 'fork w --at 0 --with nowhere.json'],
    [65, 'approve w --response {bad --why y'],
    [65, 'approve w --response - --why y'],
    [65, 'approve w --task t --value - --why y'],
    [65, 'confirm w t'],
    [65, 'confirm w t --response -'],
    [65, 'signal w s --value -'],
    [65, 'recover w --probe'],
    [65, 'jobs start pause --why y'],
    [65, 'jobs start pause --everything'],
    [78, 'memory forget k --user u'],
    [78, 'queues resume greet --why y'],
    [78, 'access resume-tenant t --why y'],
    [64, 'fork w --at -1'],
    [78, 'admin doctor --state nowhere'],
    [65, 'jobs start signal --everything --why y'],
    [65, 'jobs start signal --everything --why y --signal s --value {bad'],
    [64, 'access create-key --name n --role viewer --tenant t --all-tenants'],
    [64, 'admin access create-key --name n --role viewer --tenant t --all-tenants'],
    [65, 'access revoke-key tmk_abc_s3cr3t --why y'],
    [65, 'run greet --input {bad'],
    [65, `run greet --id job:x --input {"name":"a"} --workflows ${MODULE}`],
    [65, `run greet --timeout soon --input {"name":"a"} --workflows ${MODULE} --detach`],
  ];

  it.each(wrong)('ends with %i, and creates nothing: %s', async (code, line) => {
    const empty = await mkdtemp(path.join(cwd, 'empty-'));
    const ended = await callCli(line.split(' '), { cwd: empty, stdin: '{bad' });
    expect([ended.code, ended.out]).toEqual([code, '']);
    expect(ended.err).not.toContain('s3cr3t');
    expect(await readdir(empty)).toEqual([]);
  });
});

it.each([['show'], ['session', 'show'], ['trace', 'export']])(
  'names an argument that is empty: %s',
  async (...name) => {
    const { code, err } = await call([...name, '']);
    expect([code, err]).toEqual([65, expect.stringMatching(/^error: <\w+>: Give at least 1 character\.$/m)]);
  },
);

it('names the option where the port of dev is taken', async (context) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { code, err } = await call(['dev', '--port', String(port), '--workflows', MODULE, '--state', 'taken']);
  expect([code, err]).toEqual([78, expect.stringContaining(`--port: port ${port} is taken by another process.`)]);
});

it.each(['files', 'shadow', 'memory', 'trace', 'admin', 'state'])(
  '%s shows its help with --help alone',
  async (name) => {
    expect((await call([name, '--help'])).out).not.toMatch(/^ {2}help\b/m);
    expect((await call([name, 'help'])).code).toBe(64);
  },
);

it('prints its version', async () => {
  const { code, out } = await call(['--version']);
  expect([code, out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});

describe('a folder without state', () => {
  it('lists nothing, and makes nothing', async () => {
    const listed = await call(['ls', '--json']);
    expect([listed.code, JSON.parse(listed.out), listed.err]).toEqual([
      0,
      { api_version: 'v1', workflows: [], next_cursor: null },
      '',
    ]);
    expect((await call(['ls'])).out).toBe('No workflows: nothing is kept in .tidemark yet.\n');
  });

  it('has the definitions of the modules that are named, and makes nothing', async () => {
    const empty = await mkdtemp(path.join(cwd, 'empty-'));
    const { out } = await callCli(['definitions', '--json', '--workflows', MODULE], { cwd: empty });
    expect(JSON.parse(out).definitions).not.toEqual([]);
    expect(await readdir(empty)).toEqual([]);
  });

  it('is said where something of it was asked for', async () => {
    for (const args of [
      ['ls'],
      ['show', 'x'],
      ['watch', 'x'],
      ['watch'],
      ['recover', 'x', '--dry-run'],
      ['recover', 'x'],
    ]) {
      const { code, err } = await call([...args, '--state', 'elsewhere']);
      expect(code).toBe(78);
      expect(err).toContain('No state is kept in elsewhere yet');
    }
  });

  it('says of definitions what their authors should know: an irreversible effect that nobody can ask about', async () => {
    const { code, out } = await call(['admin', 'doctor', '--json', '--workflows', ADVISED]);
    const { checks } = JSON.parse(out) as { checks: { check: string; level: string; found?: { code: string }[] }[] };
    const found = checks.find(({ check }) => check === 'Advice');
    const advisedLines = (await readFile(ADVISED, 'utf8')).split('\n');
    expect([code, found]).toMatchObject([
      0,
      {
        level: 'warn',
        // What other tests' modules define beside it is told as well.
        found: expect.arrayContaining([
          expect.objectContaining({
            ...{ definition: 'advised', code: 'effect-without-probe', subject: 'bank.wire' },
            at: `${ADVISED}:${advisedLines.findIndex((line) => line.includes("operation: 'bank.wire'")) + 1}`,
          }),
        ]),
      },
    ]);
    const missing = await call(['admin', 'doctor', '--workflows', 'nowhere.ts']);
    expect([missing.code, missing.out]).toEqual([78, expect.stringContaining('fail  Advice')]);
  });

  it('is well', async () => {
    const { code, out } = await call(['admin', 'doctor', '--json']);
    expect(code).toBe(0);
    const { checks } = JSON.parse(out) as { checks: { check: string; level: string }[] };
    expect(checks.map(({ check }) => check)).toEqual(['Node', 'State', 'Disk']);
  });
});

it('advises from how the newest workflows ran, and names the line', async () => {
  const state = ['--state', 'advised'];
  expect((await call(['run', 'advised', '--id', 'a1', '--input', '{}', '--workflows', ADVISED, ...state])).code).toBe(
    0,
  );
  const { code, out } = await call(['admin', 'doctor', '--json', '--workflows', ADVISED, ...state]);
  const { checks } = JSON.parse(out) as { checks: { check: string }[] };
  const lines = (await readFile(ADVISED, 'utf8')).split('\n');
  const at = `${ADVISED}:${lines.findIndex((line) => line.includes('async pay(')) + 1}`;
  expect([code, checks.find(({ check }) => check === 'Recent')]).toMatchObject([
    0,
    { level: 'warn', found: [{ definition: 'advised', code: 'effects-in-one-checkpoint', subject: 'pay', at }] },
  ]);
});

describe('what a run is given', () => {
  const run = (...args: string[]) => call(['run', ...args, '--workflows', MODULE]);

  it('names the workflows there are when asked for another', async () => {
    const { code, err } = await run('greeting');
    expect(code).toBe(65);
    expect(err).toContain("No workflow is named 'greeting'");
    expect(err).toContain('known: broken, count-up, cruise, errand, greet, ');
  });

  it('names the path of what is wrong with the input', async () => {
    const { code, err } = await run('greet', '--input', '{"name": 7}');
    expect(code).toBe(65);
    expect(err).toMatch(/input: name: expected string/);
  });

  it('says where the input that is no JSON came from', async () => {
    await writeFile(path.join(cwd, 'bad.json'), '{');
    expect((await run('greet', '--input', '{name}')).err).toContain('--input is no JSON');
    const deep = await run('greet', '--input', `{"n":${'['.repeat(5_000)}${']'.repeat(5_000)}}`);
    expect([deep.code, deep.err]).toEqual([75, expect.stringContaining('--input has more than 64 levels')]);
    await writeFile(path.join(cwd, 'latin1.json'), Buffer.from('{"name":"Zo\u00eb"}', 'latin1'));
    const latin1 = await run('greet', '--input', '@latin1.json');
    expect([latin1.code, latin1.err]).toEqual([65, expect.stringContaining('latin1.json is not UTF-8')]);
    expect((await run('greet', '--input', '@bad.json')).err).toContain('bad.json is no JSON');
    expect((await run('greet', '--input', '@none.json')).err).toContain('there is no such file');
    const { code, err } = await call(['run', 'greet', '--input', '-', '--workflows', MODULE], { stdin: '' });
    expect([code, err]).toEqual([65, expect.stringContaining('standard input is no JSON: it is empty')]);
  });

  it('needs modules, which it finds by pattern and in the environment', async () => {
    expect((await call(['run', 'greet'])).code).toBe(78);
    expect((await call(['run', 'greet', '--workflows', './none/*.ts'])).err).toContain('no file fits');
    expect((await call(['run', 'greet', '--workflows', './missing.ts'])).code).toBe(78);
    const fitting = await call(['run', 'nope', '--workflows', `${path.dirname(MODULE)}/agent*.ts`]);
    expect(fitting.err).toContain('known: broken');
    const named = await call(['run', 'nope'], { env: { TIDEMARK_WORKFLOWS: MODULE } });
    expect(named.err).toContain('known: broken');
  });
});

describe('a cluster in the environment', () => {
  it('is reported setting by setting, without values', async () => {
    const env = { TIDEMARK_KAFKA_BROKERS: 'secret-broker', TIDEMARK_REDIS_URL: 'redis://:hunter2@h' };
    const { code, out } = await call(['admin', 'doctor', '--json'], { env });
    expect(code).toBe(78);
    expect(out).toContain('TIDEMARK_POSTGRES_URL is not set');
    expect(out).not.toMatch(/secret-broker|hunter2/);
  });

  it('is checked server by server', async () => {
    const env = {
      TIDEMARK_KAFKA_BROKERS: '127.0.0.1:1',
      TIDEMARK_REDIS_URL: 'redis://:hunter2@127.0.0.1:1',
      TIDEMARK_POSTGRES_URL: 'postgres://u:hunter2@127.0.0.1:1/x',
      TIDEMARK_ENCRYPTION: 'off',
    };
    const { code, out } = await call(['admin', 'doctor', '--json'], { env });
    expect(code).toBe(69);
    const { status, checks } = JSON.parse(out) as { status: string; checks: { check: string; level: string }[] };
    expect(status).toBe('fail');
    expect(checks.filter(({ level }) => level === 'fail').map(({ check }) => check)).toEqual([
      'Kafka',
      'Redis',
      'Postgres',
    ]);
    expect(out).not.toContain('hunter2');
  });
});
