/**
 * With words of memories off, what is remembered lies in no file of the folder in clear, and is read by name all the same. The control is the
 * same folder with words, before and after.
 */

import { DEFAULT_TENANT } from '@tidemark/core';
import { type Embedder, userSubject } from '@tidemark/memory';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openEmbeddedRebuild } from './embedded.ts';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const USER = 'ana';
const FACT = 'Ana prefers quokka pictures';
const asked = { subjects: [userSubject(USER)], query: 'quokka', kinds: ['fact' as const] };

let at: FolderFixture;
beforeEach(async () => {
  at = await FolderFixture.make();
});
afterEach(() => at.end());

const embedder: Embedder = {
  model: 'ones',
  dimension: 2,
  embed: async (texts) => texts.map(() => Float32Array.of(1, 0)),
};

const keys = (memoryWords?: 'off') => ({ keysUrl: at.keysUrl(), ...(memoryWords !== undefined && { memoryWords }) });

async function withHost<T>(memoryWords: 'off' | undefined, work: (host: Host) => Promise<T>): Promise<T> {
  const host = await at.open({ ...keys(memoryWords), embedder });
  await expect.poll(() => host.ports.store.ready(), { timeout: 60_000 }).toBe(true);
  const done = await work(host);
  await at.close(host);
  return done;
}

async function rebuilt(memoryWords?: 'off'): Promise<void> {
  const rebuild = await openEmbeddedRebuild({ ...keys(memoryWords), folder: at.state }, 'switch', {});
  await rebuild.rows.switchOver();
  await rebuild.close();
}

const facts = ({ client }: Host) => client.memory.facts(DEFAULT_TENANT, userSubject(USER));
const recalled = (host: Host) => host.client.memory.recall(DEFAULT_TENANT, asked);

it('no file says what is remembered, recall says why it finds nothing, and a rebuild takes words away and brings them back', async () => {
  await withHost('off', async (host) => {
    await facts(host).remember(FACT, { source: 'chat' });
    expect(await recalled(host)).toMatchObject({ entries: [], warning: { code: 'memory-words-off' } });
    expect(await facts(host).list()).toMatchObject([{ text: FACT }]);
  });
  expect(await at.filesWith('quokka')).toEqual([]);

  await rebuilt();
  await withHost(undefined, async (host) => {
    await expect.poll(() => host.ports.store.unembedded(embedder.model, 1), { timeout: 60_000 }).toEqual([]);
    expect(await recalled(host)).toMatchObject({ entries: [{ similarity: expect.closeTo(1) }], by: 'words+meaning' });
  });
  expect(await at.filesWith('quokka')).not.toEqual([]);

  await rebuilt('off');
  // With words on again, nothing of what was found before is left: neither words nor vectors.
  await withHost(undefined, async (host) => expect((await recalled(host)).entries).toEqual([]));
  expect(await at.filesWith('quokka')).toEqual([]);
});
