/**
 * Owns the tests of S3Objects with archive classes: through the testkit's proxy, and with scripted answers to restores, on a real S3
 * server.
 */

import { randomBytes } from 'node:crypto';
import { text as textOf } from 'node:stream/consumers';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStore } from '@tidemark/ports';
import { startArchiveClassProxy } from '@tidemark/testkit/archive-class-proxy';
import { giveOn, startHttpRelay } from '@tidemark/testkit/http-relay';
import { describeServers } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openS3Objects, type S3ObjectsOptions } from './s3-objects.ts';

const HOUR_MS = 3_600_000;
const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const said = async (objects: ObjectStore, name: string): Promise<string> =>
  Buffer.from((await objects.read(name))!).toString();
const archived = { name: 'UnavailableError', code: 'object-archived' };

async function all(objects: ObjectStore): Promise<string[]> {
  const names: string[] = [];
  for await (const name of objects.list('')) names.push(name);
  return names;
}

/** Open for one test. */
async function opened(options: S3ObjectsOptions): Promise<ObjectStore> {
  const objects = await openS3Objects(options);
  onTestFinished(() => objects.close());
  return objects;
}

describeServers('recalls of objects on S3', ['s3'], ({ s3 }) => {
  const { origin: endpoint, username: accessKeyId, password: secretAccessKey } = new URL(s3);
  const place = { endpoint, credentials: { accessKeyId, secretAccessKey } };
  const client = new S3Client({ ...place, region: 'us-east-1', forcePathStyle: true });
  afterAll(() => client.destroy());

  const bucket = `objects-${randomBytes(6).toString('hex')}`;
  beforeAll(() => client.send(new CreateBucketCommand({ Bucket: bucket })));

  const freshPrefix = () => ({ ...place, bucket, prefix: `tidemark/${randomBytes(6).toString('hex')}/` });

  describe('archive classes', () => {
    async function archive(options: Partial<S3ObjectsOptions> = {}, headsUntilReady?: number) {
      const fresh = freshPrefix();
      const proxy = await startArchiveClassProxy({
        server: s3,
        bucket,
        prefix: fresh.prefix,
        ...(headsUntilReady !== undefined && { headsUntilReady }),
      });
      onTestFinished(() => proxy.close());
      const behind = { ...fresh, ...options, endpoint: proxy.endpoint };
      return { proxy, behind, objects: await opened(behind) };
    }

    test('written to one, an object is read after it was recalled, and counts as there before', async () => {
      const { proxy, objects } = await archive({ storageClass: 'GLACIER' }, 2);
      expect(await objects.create('a/b', text('cold'))).toBe(true);
      expect(await objects.create('a/b', text('cold'))).toBe(false);
      expect(await all(objects)).toEqual(['a/b']);
      await expect(objects.read('a/b')).rejects.toMatchObject({
        ...archived,
        message: expect.stringMatching(/a\/b is in an archive class/),
      });
      const fromMs = Date.now();
      const first = await objects.recall('a/b');
      const toMs = Date.now();
      expect(first.state).toBe('recalling');
      const { expectedAtMs } = first as { expectedAtMs: number };
      expect([expectedAtMs >= fromMs + 5 * HOUR_MS, expectedAtMs <= toMs + 5 * HOUR_MS]).toEqual([true, true]);
      for (const _ of [1, 2]) {
        await expect(objects.read('a/b')).rejects.toMatchObject(archived);
        expect(await objects.recall('a/b')).toEqual(first);
      }
      expect(await objects.recall('a/b')).toEqual({ state: 'ready' });
      expect(await said(objects, 'a/b')).toBe('cold');
      expect(proxy.asked).toEqual([{ name: 'a/b', days: 3, tier: 'Standard' }]);
    });

    test('moved to one later, restored, and archived again', async () => {
      const { proxy, objects } = await archive({}, Number.POSITIVE_INFINITY);
      await objects.create('a/b', text('cold'));
      expect(await said(objects, 'a/b')).toBe('cold');
      proxy.archive('a/b', 'DEEP_ARCHIVE');
      await expect(objects.read('a/b')).rejects.toMatchObject(archived);
      const fromMs = Date.now();
      const recall = await objects.recall('a/b');
      expect((recall as { expectedAtMs: number }).expectedAtMs).toBeGreaterThanOrEqual(fromMs + 12 * HOUR_MS);
      for (let poll = 0; poll < 5; poll++) expect(await objects.recall('a/b')).toEqual(recall);
      proxy.ready('a/b');
      expect(await objects.recall('a/b')).toEqual({ state: 'ready' });
      expect(await said(objects, 'a/b')).toBe('cold');
      proxy.expire('a/b');
      await expect(objects.read('a/b')).rejects.toMatchObject(archived);
      expect(await objects.recall('a/b')).toMatchObject({ state: 'recalling' });
      const asked = { name: 'a/b', days: 3, tier: 'Standard' };
      expect(proxy.asked).toEqual([asked, asked]);
    });

    test('recalled by another process: it is under way, and nobody says until when', async () => {
      const { proxy, behind, objects } = await archive({ storageClass: 'DEEP_ARCHIVE' });
      await objects.create('a', text('cold'));
      const other = await opened(behind);
      const fromMs = Date.now();
      const mine = await objects.recall('a');
      expect((mine as { expectedAtMs: number }).expectedAtMs).toBeGreaterThanOrEqual(fromMs + 12 * HOUR_MS);
      expect(await other.recall('a')).toEqual({ state: 'recalling', expectedAtMs: null });
      expect(proxy.asked).toHaveLength(1);
    });

    test('removed while it is recalled: absent', async () => {
      const { objects } = await archive({ storageClass: 'GLACIER' });
      await objects.create('a', text('cold'));
      await objects.recall('a');
      await objects.remove('a');
      expect(await objects.recall('a')).toEqual({ state: 'absent' });
      expect(await objects.read('a')).toBeUndefined();
    });

    test('a server that keeps classes as labels: ready', async () => {
      const objects = await opened({ ...freshPrefix(), storageClass: 'GLACIER' });
      await objects.create('a', text('cold'));
      expect(await objects.recall('a')).toEqual({ state: 'ready' });
      expect(await said(objects, 'a')).toBe('cold');
    });
  });

  describe('what a restore is answered with', () => {
    let asked = '';
    /** An object `x` with this HEAD and this answer to a restore. */
    async function restoring(
      headers: readonly string[],
      [status, code]: readonly [number, string?],
    ): Promise<ObjectStore> {
      const relay = await startHttpRelay(s3, async (request, response, pass) => {
        if (request.method === 'POST') {
          asked = await textOf(request);
          response.writeHead(status, { 'content-type': 'application/xml' });
          response.end(code && `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
          return;
        }
        const answer = await pass();
        giveOn(answer, response, [...answer.rawHeaders, ...(request.method === 'HEAD' ? headers : [])]);
      });
      onTestFinished(() => relay.close());
      const objects = await opened({ ...freshPrefix(), endpoint: relay.endpoint, attemptsMax: 1 });
      await objects.create('x', text('x'));
      return objects;
    }
    const glacier = ['x-amz-storage-class', 'GLACIER'];

    test.each<[string, readonly string[], readonly [number, string?], object]>([
      ['somebody asked before', glacier, [409, 'RestoreAlreadyInProgress'], { state: 'recalling', expectedAtMs: null }],
      ['it was restored just before', glacier, [200], { state: 'ready' }],
      ['it was moved back', glacier, [403, 'ObjectAlreadyInActiveTierError'], { state: 'ready' }],
      ['it was removed', glacier, [404, 'NoSuchKey'], { state: 'absent' }],
      ['the server does not know of it', glacier, [501, 'NotImplemented'], { state: 'ready' }],
      ['it is read at once', ['x-amz-storage-class', 'GLACIER_IR'], [500], { state: 'ready' }],
    ])('%s', async (_, headers, answer, reported) => {
      expect(await (await restoring(headers, answer)).recall('x')).toEqual(reported);
    });

    test('Intelligent-Tiering moves the object back for good: no days are asked for', async () => {
      const tiered = ['x-amz-storage-class', 'INTELLIGENT_TIERING', 'x-amz-archive-status', 'DEEP_ARCHIVE_ACCESS'];
      const objects = await restoring(tiered, [202]);
      const fromMs = Date.now();
      const recall = await objects.recall('x');
      expect((recall as { expectedAtMs: number }).expectedAtMs).toBeGreaterThanOrEqual(fromMs + 12 * HOUR_MS);
      expect(asked).toContain('<Tier>Standard</Tier>');
      expect(asked).not.toContain('<Days>');
    });
  });
});
