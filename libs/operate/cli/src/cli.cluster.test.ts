/** The commands against a cluster: services run elsewhere, the command line only starts and looks. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Listening, listenApi, localAuthenticator } from '@tidemark/api';
import { configFromEnv, type Host, loadDefinitions, openCluster } from '@tidemark/host';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callCli } from './called-cli-fixture.ts';

const CWD = path.resolve(import.meta.dirname, '../fixtures');
const TIMEOUT_MS = 300_000;

describeServers('the commands against a cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  const env: Record<string, string> = {};
  const hosts: Host[] = [];
  let folder: string;
  let api: Listening | undefined;
  const call = (...args: string[]) => callCli(args, { cwd: CWD, env });
  const json = async (...args: string[]) => {
    const { code, out, err } = await call(...args, '--json');
    expect([code, err]).toEqual([0, '']);
    return JSON.parse(out);
  };
  const ids = async (...filters: string[]): Promise<readonly string[]> =>
    (await json('list', ...filters)).workflows.map((row: { workflow: string }) => row.workflow);

  beforeAll(async () => {
    env.TIDEMARK_KAFKA_BROKERS = servers.kafka;
    env.TIDEMARK_REDIS_URL = servers.redis;
    env.TIDEMARK_POSTGRES_URL = await servers.freshDatabase();
    env.TIDEMARK_TOPIC = freshTopicName('cli');
    env.TIDEMARK_PARTITIONS = '4';
    folder = await mkdtemp(path.join(tmpdir(), 'tidemark-cli-'));
    env.TIDEMARK_KEYS_URL = pathToFileURL(path.join(folder, 'keys.json')).href;
  });
  afterAll(async () => {
    await api?.close();
    for (const host of hosts) await host.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('says which tables and topics are missing, and creates none', { timeout: TIMEOUT_MS }, async () => {
    const { code, out } = await call('admin', 'doctor', '--json');
    expect(code).toBe(0);
    const { status, checks } = JSON.parse(out) as Doctor;
    expect(status).toBe('warn');
    const warnings = checks.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(warnings).toEqual(
      expect.arrayContaining([expect.stringContaining('is not made yet'), 'the tables are not made yet']),
    );
    expect(JSON.parse((await call('admin', 'doctor', '--json')).out).checks).toHaveLength(checks.length);
  });

  it('makes the tables before any process is there, once; says before what it would do', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const there = env.TIDEMARK_POSTGRES_URL!;
    const dry = await json('admin', 'migrate', '--dry-run');
    expect(dry).toMatchObject({ dry_run: true, deferred: [], unknown: [] });
    expect(await json('admin', 'migrate', '--wait')).toEqual({ ...dry, dry_run: false });
    expect((await call('admin', 'migrate', '--contract')).out).toBe(
      'Nothing to apply: the tables are of this version.\n',
    );
    env.TIDEMARK_POSTGRES_URL = there.replace(/:\d+\//, ':1/');
    const absent = await call('admin', 'migrate', '--wait', '2s');
    env.TIDEMARK_POSTGRES_URL = there;
    expect([absent.code, absent.out]).toEqual([69, '']);
    expect(absent.err).toContain('Waiting.');
  });

  it('starts, follows, lists and shows what services run', { timeout: TIMEOUT_MS }, async () => {
    const coordinator = await openCluster(configFromEnv(env));
    hosts.push(coordinator);
    await coordinator.startCoordinator();
    api = await listenApi({
      ...{ place: coordinator, definitions: await loadDefinitions(['agents.ts'], CWD) },
      ...{ authenticator: localAuthenticator, host: '127.0.0.1', port: 0 },
    });
    env.TIDEMARK_URL = api.url;
    // What was done before any process was there: the change once, and neither what it would do nor what had nothing to do.
    const done = async () => (await json('audit', '--tenant', '~tidemark', '--action', 'migrate')).entries;
    await expect.poll(async () => (await done()).length).toBeGreaterThan(0);
    expect(await done()).toMatchObject([
      {
        action: 'migrate',
        outcome: 'done',
        target: expect.stringMatching(/^\d{4}-/),
        subject: expect.stringMatching(/^admin /),
      },
    ]);
    const begun = await call(
      'run',
      'greet',
      '--input',
      '{"name":"Eve"}',
      '--id',
      'g1',
      '--detach',
      '--workflows',
      'agents.ts',
    );
    expect([begun.code, begun.out]).toEqual([0, 'g1\n']);
    expect((await call('ls')).out).toMatch(/g1 +greet v1 +ready/);
    const alone = await call('admin', 'doctor');
    expect(alone.out).toMatch(
      /warn +Workflows +1 open workflow: 0 running, 1 ready\n +→ Nobody runs them: start a worker/,
    );

    const watching = call('watch', 'g1', '--json');
    const worker = await openCluster(configFromEnv(env));
    hosts.unshift(worker);
    const definitions = await loadDefinitions(['agents.ts'], CWD);
    await worker.startWorker({ definitions, concurrency: 10 });
    const watched = await watching;
    expect(watched.code).toBe(0);
    const reported = watched.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(reported.map(({ type }) => type)).toEqual(['now', 'checkpoint', 'checkpoint', 'completed']);

    const ran = await call('run', 'order', '--input', '{"cents":9}', '--json', '--workflows', 'agents.ts');
    expect(JSON.parse(ran.out)).toMatchObject({ created: true, output: { receipt: 'receipt-9' } });
    expect((await call('show', 'g1')).out).toContain('"text": "Hello, Eve!"');

    const well = await call('admin', 'doctor');
    // One broker is all that a test has, and its own Postgres doesn't wait for the disk.
    const isSynced = !well.out.includes('fsync is off');
    expect(well.out).toContain(`0 failures, ${isSynced ? 2 : 3} warnings.`);
    for (const topic of [env.TIDEMARK_TOPIC, `${env.TIDEMARK_TOPIC}.keys`])
      expect(well.out).toContain(`topic "${topic}" has one replica`);
    for (const server of ['Kafka', 'Redis', 'Postgres'])
      expect(well.out).toMatch(new RegExp(`ok +${server} .*version \\d`));
    expect(well.out).not.toContain(new URL(env.TIDEMARK_POSTGRES_URL ?? '').password || '\u0000');
  });

  it('holds a queue, lets it go, and acts on many, through services of which it is none', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const say = ['--why', 'the provider is down'];
    const run = ['run', 'greet', '--input', '{"name":"Eve"}', '--detach', '--workflows', 'agents.ts', '--tag', 'held'];
    expect(await json('queues', 'pause', 'greet', ...say)).toMatchObject({ changed: true, held: true });
    await call(...run, '--id', 'g2');
    await expect
      .poll(async () => (await json('fleet')).queues)
      .toMatchObject([{ queue: 'greet', ready_count: 1, running_count: 0, held: [{ by: 'local' }] }]);
    const job = ['jobs', 'start', 'pause', '--tag', 'held', ...say, '--id', 'freeze', '--watch'];
    expect((await call(...job)).out).toMatch(/completed {2}1 done, 0 refused\n$/);
    expect(await json('jobs', 'show', 'freeze')).toMatchObject({ act: 'pause', status: 'completed', done_count: 1 });
    expect((await call('queues', 'resume', 'greet', ...say)).out).toBe('greet of all tenants is resumed.\n');
    await call('resume', 'g2', ...say);
    await expect.poll(() => ids('--tag', 'held', '--status', 'completed')).toEqual(['g2']);
    for (const style of [
      'children g2',
      'errors',
      'questions',
      'rejected',
      'definitions',
      'schedule list',
      'approvals',
    ]) {
      expect((await call(...style.split(' '))).code, style).toBe(0);
    }
  });
});

interface Doctor {
  readonly status: string;
  readonly checks: readonly { readonly check: string; readonly level: string; readonly message: string }[];
}
