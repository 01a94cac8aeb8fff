/**
 * What the model of an agent says, followed while its process is killed in the middle of an answer: on a folder and on servers. A reader gets
 * each word once and in order, goes on from any place, and ends with what is recorded; an answer that is recorded is not asked for again.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { connect, type EventOf } from '@tidemark/client';
import { eventually } from '@tidemark/testkit/eventually';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { freePort } from '@tidemark/testkit/servers';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterEach, beforeEach, expect, it } from 'vitest';

const FIXTURES = path.resolve(import.meta.dirname, '../fixtures');
const PATIENCE_MS = 60_000;

type Item = EventOf<'GET /v1/workflows/{workflow}/stream'> & { readonly id?: string };

let folder: string;
const children: { kill(): unknown }[] = [];
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-telling-'));
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  await rm(folder, { recursive: true });
});

function reading(url: string, id: string, from?: string) {
  const items: Item[] = [];
  const done = (async () => {
    const run = connect({ url, tries: 60 }).run(id);
    for await (const item of run.stream(from === undefined ? {} : { from })) items.push(item);
  })();
  done.catch(() => {});
  return { items, done };
}

/** Some may come in one piece. */
const wordsOf = (items: readonly Item[], pid: number): readonly string[] =>
  items
    .flatMap((item) => (item.name === 'delta' ? (item.data.text?.match(/\S+ /g) ?? []) : []))
    .filter((word) => word.startsWith(`${pid}:`));
/** The process that speaks. */
const speaker = async ({ items }: { readonly items: readonly Item[] }, besides?: number): Promise<number> =>
  eventually(
    () => {
      const said = items.flatMap((item) => (item.name === 'delta' ? (item.data.text?.match(/\d+(?=:)/g) ?? []) : []));
      const [pid] = said.map(Number).filter((each) => each !== besides);
      return pid !== undefined && wordsOf(items, pid).length >= 5 && pid;
    },
    { timeoutMs: PATIENCE_MS, what: 'a process speaks' },
  );

async function expectFollowed(url: string, kill: (pid: number) => Promise<void>): Promise<void> {
  const client = connect({ url, tries: 60 });
  const run = await eventually(() => client.start('telling', {}), { timeoutMs: PATIENCE_MS, what: 'it is known' });
  const reader = reading(url, run.id);
  const first = await speaker(reader);
  const place = reader.items.at(-1)!.id!;
  await kill(first);
  const second = await speaker(reader, first);
  const later = reading(url, run.id, place);
  await speaker(later, first);
  await writeFile(path.join(folder, 'whole'), '');
  const { text } = await run.result<{ text: string }>();
  await Promise.all([reader.done, later.done]);
  const answers = reader.items.flatMap((item) => (item.name === 'answer' ? [item.data.text] : []));
  expect(answers).toEqual(['Looking. ', text]);
  expect(later.items.at(-1)).toMatchObject({ name: 'answer', data: { text } });
  for (const { items } of [reader, later]) {
    const words = wordsOf(items, second);
    expect(words).toEqual(words.map((_, at) => `${second}:${at + 1} `));
    expect(text.startsWith(words.join(''))).toBe(true);
  }
  // Nothing of the lost attempt comes after the reset of the next, nor again.
  const reset = reader.items.findLastIndex(({ name }) => name === 'reset');
  expect(wordsOf(reader.items.slice(reset), first)).toEqual([]);
  const lost = wordsOf(reader.items, first);
  expect(lost).toEqual(lost.map((_, at) => `${first}:${at + 1} `));
  // The one that was killed within its answer is asked again, which shows that the rest is not luck.
  const asked = (await readFile(path.join(folder, 'asked'), 'utf8')).trim().split('\n');
  expect(asked).toEqual(['first', 'looked', `second ${first}`, `second ${second}`]);
}

it('on a folder, which another process opens', async () => {
  const port = await freePort();
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    child = spawn(
      process.execPath,
      [path.join(FIXTURES, 'embedded-server.ts'), path.join(folder, 'state'), `${port}`],
      {
        env: { ...process.env, TELLING: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    children.push({ kill: () => child.kill('SIGKILL') });
    await once(child.stdout!, 'data');
  };
  await start();
  await expectFollowed(`http://127.0.0.1:${port}`, async (pid) => {
    expect(child.pid).toBe(pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await start();
  });
});

describeServers('on the cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  it('of which another worker goes on', async () => {
    const port = await freePort();
    const env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('telling'),
      TIDEMARK_PARTITIONS: '2',
      TIDEMARK_PARTITIONS_MAX: '2',
      TIDEMARK_ENCRYPTION: 'off',
      TIDEMARK_AUTH: 'off',
    };
    const module = `./${path.relative(process.cwd(), path.join(FIXTURES, 'telling-agent.ts'))}`;
    const coordinator = await startService('coordinator', { ...env, TIDEMARK_API_PORT: String(port) });
    const own = { ...env, TELLING: folder, TIDEMARK_WORKFLOWS: module };
    const workers: ServiceProcess[] = await Promise.all([1, 2].map(() => startService('worker', own)));
    children.push(coordinator, ...workers);
    await expectFollowed(`http://127.0.0.1:${port}`, (pid) => workers.find((worker) => worker.pid === pid)!.kill());
  });
});
