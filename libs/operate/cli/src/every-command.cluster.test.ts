/**
 * Every command that asks operations is run twice: in a folder that another process holds, and over HTTP against a cluster, there first with a
 * key whose role may not (refused with 77, and nothing changed), then with one whose role may.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type Listening, listenApi } from '@tidemark/api';
import {
  type Access,
  accessRecords,
  configFromEnv,
  type Host,
  loadDefinitions,
  openAccess,
  openCluster,
} from '@tidemark/host';
import type { Role } from '@tidemark/ports';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Ended } from './called-cli-fixture.ts';
import { callCli, hold } from './called-cli-fixture.ts';
import { makeProgram } from './program/program.ts';
import { Terminal } from './terminal.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const MODULES = ['agents.ts', 'thinkers.ts'].map((file) => path.resolve(import.meta.dirname, '../fixtures', file));

interface Line {
  /** Words of the command, as a shell splits them at spaces; `{"…"}` has none. */
  readonly line: string;
  /** Of whom one may, and of whom one may not. */
  readonly may: Role;
  readonly mayNot: Role;
  /** What it exits with; absent: 0. */
  readonly code?: number;
}

const line = (may: Role, mayNot: Role, text: string, code?: number): Line => ({
  ...{ line: text, may, mayNot },
  ...(code !== undefined && { code }),
});
const reads = (text: string, code?: number): Line => line('viewer', 'scaler', text, code);
const sees = (text: string, code?: number): Line => line('operator', 'viewer', text, code);
const acts = (text: string, code?: number): Line => line('operator', 'approver', text, code);
const decides = (text: string, code?: number): Line => line('approver', 'operator', text, code);
const reports = (text: string, code?: number): Line => line('worker', 'operator', text, code);
const administers = (text: string, code?: number): Line => line('admin', 'operator', text, code);

/** In order: what one makes the next one asks for. 65: nothing of that name is there to be acted on. */
const LINES: readonly Line[] = [
  acts('run greet --id g1 --session talk-1 --input {"name":"Eve"}'),
  acts('run talk --id k1 --input {"turns":2}'),
  acts('run permit --id p1 --detach'),
  acts('run permit --id p2 --detach'),
  acts('run permit --id p3 --detach'),
  acts('run trip --id t1 --input {"journal":"JOURNAL"}', 1),
  reads('ls'),
  reads('show g1'),
  reads('show g1 --at 1'),
  reads('watch g1'),
  reads('children g1'),
  reads('signals list g1'),
  acts('signals amend p1 no-such --value 1 --why wrong', 65),
  acts('signals discard p1 no-such --why wrong', 65),
  reads('errors'),
  reads('questions'),
  reads('rejected'),
  reads('definitions'),
  reads('fleet'),
  reads('leases'),
  reads('approvals'),
  reads('whoami'),
  reads('trace show g1'),
  reads('trace export g1 --file FOLDER/trace.json'),
  reads('bundle show k1'),
  sees('bundle diff k1 --at 2 --to 4'),
  sees('recover t1 --dry-run'),
  acts('recover p1'),
  acts('fork g1 --at 0 --id f1'),
  acts('reset g1 --at 0 --effects keep --why later --dry-run'),
  sees('compare g1 f1'),
  acts('pin p1 --why audit'),
  acts('unpin p1 --why over'),
  acts('pause p1 --why later'),
  acts('resume p1 --why now'),
  acts('signal p1 approved --value {"by":"ana"}'),
  acts('cancel p2 --why needless'),
  acts('terminate p3 --why needless'),
  decides('approve t1 --as done --response {"receipt":"w1"} --why seen'),
  decides('reject t1 --why never', 65),
  reports('confirm t1 no-such-token --response null', 65),
  administers('skip g1 --why forged', 65),
  administers('take g1 --why back', 65),
  acts('session handover talk-1 --from ana --to bo --message done'),
  sees('session show talk-1'),
  acts('session resume talk-1'),
  acts('memory remember --user ana --source me Ana-likes-tea'),
  sees('memory list --user ana'),
  sees('memory recall --user ana tea'),
  acts('memory forget --user ana no-such-key', 65),
  acts('user set --user ana tone dry'),
  sees('user get --user ana tone'),
  sees('user list --user ana'),
  acts('user forget --user ana tone'),
  administers('budget set --user ana --usd 5 --period day'),
  reads('budget show'),
  administers('budget raise g1 --usd 1 --why more', 65),
  acts('schedule set daily greet --cron 0_9_*_*_* --input {"name":"Eve"}'),
  reads('schedule list'),
  acts('schedule fire daily'),
  acts('jobs start pause --tag no-such --why later --id j1'),
  reads('jobs list'),
  reads('jobs show j1'),
  reads('jobs watch j1'),
  acts('jobs cancel j1 --why enough', 65),
  acts('queues pause greet --why away'),
  reads('queues list'),
  acts('queues resume greet --why back'),
  administers('retention set --warm 7d --keep 30d'),
  administers('retention hold case --workflow g1 --why dispute'),
  administers('retention show'),
  administers('retention release case'),
  administers('access create-key --name ci --role viewer --tenant acme'),
  administers('access list-keys'),
  administers('access revoke-key no-such --why lost', 65),
  administers('access create-tenant acme'),
  administers('access tenants'),
  administers('access suspend-tenant acme --why unpaid'),
  administers('access resume-tenant acme --why paid'),
  administers('audit'),
  administers('du'),
  reads('shadow status greet'),
  sees('shadow report greet'),
  acts('shadow promote greet --to 1'),
  acts('shadow route greet run-1'),
  sees('files export FOLDER/files --run g1'),
];

/** Those that ask none, or serve for as long as they run, have tests of their own. */
const ELSEWHERE = ['login', 'logout', 'mcp', 'files mirror', 'files import'];

const wordsOf = ({ line: text }: Line, folder: string): readonly string[] =>
  text
    .replace('JOURNAL', path.join(folder, 'journal'))
    .replace('FOLDER', folder)
    .split(' ')
    .map((word) => (/^\S_\d_\S_\S_\S$/.test(word) ? word.replaceAll('_', ' ') : word));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-every-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const reported = ({ line: text }: Line, { code, out, err }: Ended): string => `tidemark ${text}\n${code}\n${out}${err}`;

it('is in the list', () => {
  const terminal = new Terminal({ stdout: process.stdout, stderr: process.stderr, env: {}, json: false });
  const program = makeProgram(
    { does: () => async () => {}, asks: () => async () => {} },
    { terminal, env: {}, cwd: folder, stdin: process.stdin },
  );
  const leaves = (command: CommandUnknownOpts, name: string): readonly string[] =>
    command.commands.length > 0
      ? command.commands.flatMap((each) => leaves(each, `${name} ${each.name()}`.trim()))
      : command.options.some(({ long }) => long === '--context')
        ? [name]
        : [];
  const listed = new Set(LINES.map(({ line: text }) => text));
  const without = leaves(program, '').filter((name) => ![...listed].some((text) => `${text} `.startsWith(`${name} `)));
  expect(without.sort()).toEqual([...ELSEWHERE].sort());
});

describe('in a folder that another process holds', () => {
  it('ends as it should', async (context) => {
    context.onTestFinished(await hold({ cwd: folder, modules: MODULES }));
    for (const each of LINES) {
      const ended = await callCli(wordsOf(each, folder), { cwd: folder });
      expect.soft(ended.code, reported(each, ended)).toBe(each.code ?? 0);
    }
  });
});

describeServers('over HTTP', ['kafka', 'redis', 'postgres'], (servers) => {
  let host: Host;
  let access: Access;
  let api: Listening;
  const keys = new Map<Role, string>();

  beforeAll(async () => {
    const env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('every'),
      TIDEMARK_PARTITIONS: '4',
      TIDEMARK_ENCRYPTION: 'off',
    };
    host = await openCluster(configFromEnv(env));
    await host.startCoordinator();
    const definitions = await loadDefinitions(MODULES, folder);
    await host.startWorker({ definitions, concurrency: 10 });
    const records = accessRecords(host);
    for (const role of ['viewer', 'operator', 'approver', 'worker', 'admin', 'scaler'] as const) {
      const made = await records.createKey({ tenant: null, roles: [role], name: role, expiresMs: null, by: 'test' });
      keys.set(role, made.text);
    }
    access = openAccess(host, { keys: true, oidc: null } as Parameters<typeof openAccess>[1]);
    const { authenticator, audit } = access;
    api = await listenApi({ place: host, definitions, authenticator, audit, host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await api?.close();
    await access?.close();
    await host?.close();
  });

  it('ends as it should for a role that may, and is refused to one that may not', async () => {
    const as = (role: Role, words: readonly string[]) =>
      callCli(words, { cwd: folder, env: { TIDEMARK_URL: api.url, TIDEMARK_TOKEN: keys.get(role)! } });
    for (const each of LINES) {
      const words = wordsOf(each, folder);
      const refused = await as(each.mayNot, words);
      expect.soft(refused.code, reported(each, refused)).toBe(77);
      const ended = await as(each.may, words);
      expect.soft(ended.code, reported(each, ended)).toBe(each.code ?? 0);
    }
  });
});
