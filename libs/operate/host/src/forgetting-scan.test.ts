/**
 * Forgetting, byte by byte, on the embedded default: markers are put into every place that what a workflow says can get to, a workflow and a
 * user are forgotten, and every file of the folder is searched, while the process still has it open and after rows were rebuilt. The
 * control is that the words are found before, and that what nobody forgot is found after.
 */

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_TENANT, workflowId } from '@tidemark/core';
import type { Embedder } from '@tidemark/memory';
import type { StoredKey } from '@tidemark/ports';
import { forget } from '@tidemark/runtime';
import { filesWithMarkers } from '@tidemark/testkit/marked-bytes';
import { marked, marker, PLACES, runMarked } from '@tidemark/testkit/marked-workflow';
import { type OtlpReceiver, startOtlpReceiver } from '@tidemark/testkit/otlp-receiver';
import { traceSettings } from '@tidemark/traces';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const TENANT = DEFAULT_TENANT;
const PATIENCE = { timeout: 60_000 };

/** Vectors that show in a file: each number of one is 1/8 or -1/8, by the digest of the text. */
const vectorOf = (text: string): Float32Array => {
  const digest = createHash('sha256').update(text).digest();
  return Float32Array.from({ length: 64 }, (_, at) => ((digest[at >> 3]! >> (at & 7)) & 1 ? 0.125 : -0.125));
};
const embedder: Embedder = {
  model: 'marks',
  dimension: 64,
  embed: async (texts) => texts.map(vectorOf),
};

let at: FolderFixture;
let collector: OtlpReceiver;
beforeEach(async () => {
  at = await FolderFixture.make();
  collector = await startOtlpReceiver();
});
afterEach(async () => {
  await at.end();
  await collector.close();
});

async function open(): Promise<Host> {
  const urls = { keysUrl: at.keysUrl(), secretsUrl: at.keysUrl('secrets') };
  const traces = traceSettings({}, collector.endpoint);
  const host = await at.open({ ...urls, embedder, inlineMaxBytes: 2_000, traces });
  await expect.poll(() => host.ports.store.ready(), PATIENCE).toBe(true);
  return host;
}

const forgetIn = (host: Host, of: { readonly user: string } | { readonly workflow: ReturnType<typeof workflowId> }) =>
  forget(
    {
      store: host.ports.store,
      keys: host.keys!.data,
      keyStore: host.keys!.store,
      memory: host.client.memory,
      now: () => 'now',
    },
    { tenant: TENANT, by: 'carl', why: 'asked', ...of },
  );

const compact = (host: Host) =>
  host.compactor({ policy: { hotMs: 1, segmentMinBytes: 1 }, paceBytesPerSecond: Number.POSITIVE_INFINITY }).pass();

const marksOf = (who: string): readonly string[] => PLACES.map((place) => marker(who, place));

/** By marker, the files that hold it in any form. */
const found = (marks: readonly (string | Uint8Array)[]) => filesWithMarkers(at.state, marks);

async function keysOf(host: Host): Promise<StoredKey[]> {
  const keys: StoredKey[] = [];
  for await (const key of host.keys!.store.list({})) keys.push(key);
  return keys;
}

it('nothing of a workflow, nor of a user, is in any file, as text, as words, as vector or as key', async () => {
  const host = await open();
  await host.startWorker({ definitions: [marked], concurrency: 4 });
  // Whose memory is written by a run that is forgotten, and by one that isn't.
  await runMarked(host.client, { who: 'run', id: 'run', user: 'eve', about: 'user:eve' });
  await runMarked(host.client, { who: 'kept', id: 'kept', user: 'bob', about: 'user:bob' });
  await runMarked(host.client, { who: 'hers', id: 'hers', user: 'ana', about: 'pipeline:p' });
  const reported = marker('hers', 'told');
  await host.client.memory.remember(
    [{ subject: 'user:ana', kind: 'fact', key: 'k', value: { text: reported }, words: reported, source: 'test' }],
    { tenant: TENANT },
  );
  await expect.poll(() => host.ports.store.unembedded(embedder.model, 1), PATIENCE).toEqual([]);
  const recalled = async (user: string, words: string) =>
    (await host.client.memory.recall(TENANT, { subjects: [`user:${user}`], query: words, kinds: ['fact', 'summary'] }))
      .entries.length;
  expect(await recalled('eve', marker('run', 'words'))).toBeGreaterThan(0);
  expect(await recalled('ana', reported)).toBeGreaterThan(0);
  await vi.waitFor(async () => expect(await compact(host)).toMatchObject({ failedCount: 0 }), PATIENCE);

  const everyKey = await keysOf(host);
  const vectors = [marker('run', 'words'), reported].map((text) => Buffer.from(vectorOf(text).buffer));
  const marks = [...marksOf('run'), ...marksOf('hers'), reported];
  // The control: what memory is found by is in the rows' files, and nothing else that was said is in any.
  const before = await found([...marks, ...vectors]);
  expect(before.size).toBeGreaterThanOrEqual(4);
  for (const files of before.values()) for (const file of files) expect(file).toMatch(/^rows\//);

  const forgotten = [
    await forgetIn(host, { workflow: workflowId('run') }),
    await forgetIn(host, { workflow: workflowId('run-falls') }),
    await forgetIn(host, { user: 'ana' }),
  ];
  expect(forgotten.map(({ leftIn }) => leftIn)).toEqual([[], [], []]);
  expect(await recalled('eve', marker('run', 'words'))).toBe(0);
  expect(await recalled('ana', reported)).toBe(0);
  const gone = new Set(forgotten.flatMap(({ keys }) => keys));
  const wrapped = everyKey.filter(({ id }) => gone.has(id)).map((key) => key.wrapped);
  expect(wrapped.length).toBe(gone.size);
  const secret = [...marks, ...vectors, ...wrapped];
  expect(await found(secret)).toEqual(new Map());
  expect((await found([marker('kept', 'words')])).size).toBe(1);

  await at.close(host);
  expect(await found(secret)).toEqual(new Map());
  // Traces have names and counts, where they were not asked for content.
  expect(collector.spans.length).toBeGreaterThan(0);
  expect(marks.filter((mark) => JSON.stringify(collector.spans).includes(mark))).toEqual([]);
  await rm(path.join(at.state, 'rows'), { recursive: true });
  const reopened = await open();
  await expect.poll(() => reopened.ports.store.unembedded(embedder.model, 1), PATIENCE).toEqual([]);
  await at.close(reopened);
  expect(await found(secret)).toEqual(new Map());
  expect((await found([marker('kept', 'words')])).size).toBe(1);
});
