/**
 * An answer that is followed through two coordinators while its worker dies, or seems to: no word comes twice, none of the lost attempt
 * comes after the reset of the next, a reader goes on at the other coordinator from any place, and all end with what is recorded.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { connect, type EventOf } from '@tidemark/client';
import type { WorkflowId } from '@tidemark/core';
import { openRedisWatch } from '@tidemark/queue-bullmq';
import type { CallDelta, ModelChunk } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { freePort } from '@tidemark/testkit/servers';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { afterEach, beforeEach, expect, it } from 'vitest';

const TIMEOUT_MS = 300_000;
/** Of each thing that is waited for, so that what does not come is named. */
const PATIENCE_MS = 100_000;

type Item = EventOf<'GET /v1/workflows/{workflow}/stream'> & { readonly id?: string };

describeServers('an answer followed through two coordinators', ['kafka', 'redis', 'postgres'], (servers) => {
  const services: ServiceProcess[] = [];
  let env: Record<string, string>;
  let folder: string;
  let urls: readonly [string, string];

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-stream-'));
    env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('stream'),
      TIDEMARK_PARTITIONS: '2',
      TIDEMARK_PARTITIONS_MAX: '2',
      TIDEMARK_ENCRYPTION: 'off',
      TIDEMARK_AUTH: 'off',
      TIDEMARK_WORKFLOWS: './test/integration/stream-workflows.ts',
    };
    const ports = [await freePort(), await freePort()];
    urls = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string];
    // They have nobody's code, and know by what the workers register.
    const own = { TIDEMARK_WORKFLOWS: '' };
    await Promise.all(ports.map((port) => start('coordinator', { ...own, TIDEMARK_API_PORT: String(port) })));
  });

  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.kill()));
    await rm(folder, { recursive: true });
  });

  const start = async (name: 'coordinator' | 'worker', more: Record<string, string> = {}): Promise<ServiceProcess> => {
    const service = await startService(name, { ...env, ...more });
    services.push(service);
    return service;
  };

  /** Reads until it has so many items, or the end. */
  const reading = (url: string, id: string, { from, count }: { from?: string | undefined; count?: number } = {}) => {
    const items: Item[] = [];
    const left = new AbortController();
    const run = connect({ url, tries: 30 }).run(id);
    const done = (async () => {
      for await (const item of run.stream({ signal: left.signal, ...(from !== undefined && { from }) })) {
        items.push(item);
        if (items.length === count) break;
      }
      return items;
    })();
    return { items, done, wordsOf: (pid: number) => wordsOf(items, pid) };
  };
  /** Some may come in one piece. */
  const wordsOf = (items: readonly Item[], pid: number): readonly string[] =>
    items
      .flatMap((item) => (item.name === 'delta' ? (item.data.text?.match(/\S+ /g) ?? []) : []))
      .filter((word) => word.startsWith(`${pid}:`));
  const countsTo = (words: readonly string[], pid: number): void =>
    expect(words).toEqual(words.map((_, at) => `${pid}:${at + 1} `));
  const hasWords = (reader: ReturnType<typeof reading>, pid: number, count: number): Promise<unknown> =>
    eventually(() => reader.wordsOf(pid).length >= count, {
      timeoutMs: PATIENCE_MS,
      what: `a reader has ${count} words of ${pid}`,
    });

  const shown = async (url: string, id: string): Promise<readonly string[]> => {
    const api = `${url}/v1/workflows/${id}/stream?format=ui-message`;
    const transport = new DefaultChatTransport({ prepareReconnectToStreamRequest: () => ({ api }) });
    const stream = (await transport.reconnectToStream({ chatId: id }))!;
    const states: string[] = [];
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) states.push(textOf(message));
    return states;
  };
  const textOf = ({ parts }: UIMessage): string =>
    parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

  it('whose worker is killed goes on with a reset, and each reader ends with the recorded words', {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const bus = openRedisWatch({ url: servers.redis, prefix: env.TIDEMARK_TOPIC! });
    context.onTestFinished(() => bus.close());
    const workers = await Promise.all([start('worker'), start('worker')]);
    const file = path.join(folder, 'whole');
    const client = connect({ url: urls[0], tries: 30 });
    const run = await eventually(() => client.start('test-counting', { file }), {
      timeoutMs: PATIENCE_MS,
      what: 'the workers have registered',
    });
    const sent: ModelChunk[] = [];
    await bus.subscribe(run.id as WorkflowId, (message) => sent.push(JSON.parse(message)));
    const readers = urls.map((url) => reading(url, run.id));
    const ui = urls.map((url) => shown(url, run.id));
    for (const each of ui) each.catch(() => {});
    const [first, second] = await eventually(
      () => {
        const speaks = workers.findIndex(({ pid }) => readers[0]!.wordsOf(pid).length > 0);
        return speaks >= 0 && ([workers[speaks]!, workers[1 - speaks]!] as const);
      },
      { timeoutMs: PATIENCE_MS, what: 'a worker speaks' },
    );
    await Promise.all(readers.map((reader) => hasWords(reader, first.pid, 20)));
    await first.kill();
    const { delta, ...lost } = sent.at(-1)! as ModelChunk & { readonly delta: CallDelta };
    await Promise.all(readers.map((reader) => hasWords(reader, second.pid, 20)));
    // As if it had only been silent, and spoke again: past the bus, which keeps nothing of a lost lease.
    const ghost = { ...delta, index: delta.index + 1, number: delta.number + 1, text: `${first.pid}:ghost ` };
    bus.publish(run.id as WorkflowId, JSON.stringify({ ...lost, delta: ghost }), 'none');
    await eventually(() => sent.some((chunk) => 'text' in chunk.delta && chunk.delta.text === ghost.text));
    // From any place of the lost attempt or of the new one, at the other coordinator than the one that gave the id.
    const [items] = readers.map((reader) => [...reader.items]);
    const places = [0, 1, items!.length >> 1, items!.length - 2, items!.length - 1];
    const rests = places.map((at) => ({ at, reader: reading(urls[1], run.id, { from: items![at]!.id }) }));
    await Promise.all(rests.map(({ reader }) => hasWords(reader, second.pid, 3)));
    await writeFile(file, '');
    const { text } = await run.result<{ text: string }>();
    const all = await readers[0]!.done;
    for (const reader of readers) {
      expect((await reader.done).at(-1)).toMatchObject({ name: 'answer', data: { text } });
      countsTo(reader.wordsOf(first.pid), first.pid);
      countsTo(reader.wordsOf(second.pid), second.pid);
      const said = reader.items.map((item) =>
        item.name === 'delta' ? item.data.text : item.name === 'reset' ? '|' : '',
      );
      expect(text.startsWith(said.join('').split('|').at(-1)!)).toBe(true);
    }
    for (const { at, reader } of rests) {
      const lost = all.slice(at + 1).filter((item) => !('attempt' in item.data) || item.data.attempt > 0);
      const rest = await reader.done;
      // Pieces of the lost attempt are void for who comes after its reset.
      const since = lost.findIndex(({ id }) => id === rest[0]!.id);
      expect(since).toBeGreaterThanOrEqual(0);
      // The answer ends a call where a coordinator hears of it, so its last pieces are shown by one and not by the other.
      const [told, wanted] = [rest, lost.slice(since)].map((of) => of.slice(0, -1).map(({ data }) => data));
      const count = Math.min(told!.length, wanted!.length);
      expect(told!.slice(0, count)).toEqual(wanted!.slice(0, count));
      expect(wordsOf(rest, first.pid)).toEqual([]);
      expect(rest.at(-1)).toMatchObject({ name: 'answer', data: { text } });
    }
    for (const states of await Promise.all(ui)) {
      expect(states.at(-1)).toBe(text);
      for (const state of states) {
        const pid = state.startsWith(`${first.pid}:`) ? first.pid : second.pid;
        const words = state.match(/\S+ /g) ?? [];
        expect(words).toEqual(words.map((_, at) => `${pid}:${at + 1} `));
      }
    }
    // Control: who doesn't heed resets has the words of both.
    const heedless = all.map((item) => (item.name === 'delta' ? item.data.text : '')).join('');
    expect(heedless).toContain(`${first.pid}:1 `);
    expect(heedless).toContain(`${second.pid}:1 `);
    // Who comes late gets the answer alone, from either.
    for (const url of urls) {
      expect(await reading(url, run.id).done).toMatchObject([{ name: 'answer', data: { text } }]);
    }
  });
});
