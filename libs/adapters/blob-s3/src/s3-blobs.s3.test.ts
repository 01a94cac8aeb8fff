/** The contract of BlobStore on a real S3 server, and what only this adapter promises: parts, faults, credentials. */

import { hash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createRelay, type Socket } from 'node:net';
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { workflowId } from '@tidemark/core';
import { blobStoreContract } from '@tidemark/testkit/contracts/blob-store';
import { describeServers } from '@tidemark/testkit/suites';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { S3BucketOptions } from './s3-bucket.ts';
import { PROBE_NAME } from './s3-conditions.ts';
import { ASKED_FIRST_BYTES, openS3Blobs } from './s3-objects.ts';

const W = workflowId('w');
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

function partsOf(address: string) {
  const { origin, username, password } = new URL(address);
  return { endpoint: origin, credentials: { accessKeyId: username, secretAccessKey: password } };
}

describeServers('blobs on S3', ['s3'], ({ s3 }) => {
  const place = partsOf(s3);
  const client = new S3Client({ ...place, region: 'us-east-1', forcePathStyle: true });
  afterAll(() => client.destroy());

  let bucket: string;
  async function freshBucket(): Promise<S3BucketOptions> {
    bucket = `blobs-${randomBytes(6).toString('hex')}`;
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    return { ...place, bucket, prefix: 'tidemark/blobs/' };
  }
  const keyOf = (digest: string, workflow = W): string => {
    const of = hash('sha256', workflow);
    return `tidemark/blobs/${of.slice(0, 2)}/${of}/${digest}`;
  };

  blobStoreContract('s3', async () => {
    const options = await freshBucket();
    const blobs = await openS3Blobs(options);
    return {
      blobs,
      damage: async (workflow, digest) => {
        await client.send(
          new PutObjectCommand({ Bucket: bucket, Key: keyOf(digest, workflow), Body: 'something else' }),
        );
      },
      again: () => openS3Blobs(options),
      close: () => blobs.close(),
    };
  });

  test('a large blob is seen when it is whole, and once only', async () => {
    const blobs = await openS3Blobs(await freshBucket());
    const large = randomBytes(2 * ASKED_FIRST_BYTES + 12_345);
    const [digest, again] = await Promise.all([blobs.put(W, large), blobs.put(W, large)]);
    expect([digest, again]).toEqual([hash('sha256', large), digest]);
    expect(Buffer.compare(await blobs.get(W, digest), large)).toBe(0);
    await blobs.put(W, large);
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    const stored = Contents!.filter(({ Key }) => !Key!.endsWith(PROBE_NAME));
    expect(stored.map(({ Key, Size }) => [Key, Size])).toEqual([[keyOf(digest), large.length]]);
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: keyOf(digest), Body: 'cut' }));
    await expect(blobs.get(W, digest)).rejects.toMatchObject({ code: 'blob-damaged', details: { digest, bytes: 3 } });
    await blobs.put(W, large);
    expect(Buffer.compare(await blobs.get(W, digest), large)).toBe(0);
    await blobs.close();
  });

  test('more than a page of blobs of a workflow is removed, and nothing else', async () => {
    const blobs = await openS3Blobs(await freshBucket());
    await Promise.all(Array.from({ length: 1_050 }, (_, index) => blobs.put(W, text(`blob ${index}`))));
    const kept = await blobs.put(workflowId('other'), text('blob 0'));
    await blobs.removeAll(W);
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    const stored = Contents!.filter(({ Key }) => !Key!.endsWith(PROBE_NAME));
    expect(stored.map(({ Key }) => Key)).toEqual([keyOf(kept, workflowId('other'))]);
    await blobs.close();
  });

  test('a server that goes away is unavailable, and serves again when it is back', async () => {
    const way = await relayTo(s3);
    const blobs = await openS3Blobs({ ...(await freshBucket()), endpoint: way.endpoint, attemptsMax: 1 });
    const digest = await blobs.put(W, text('precious'));
    await way.cut();
    for (const call of [() => blobs.get(W, digest), () => blobs.put(W, text('other')), () => blobs.removeAll(W)]) {
      await expect(call()).rejects.toMatchObject({ name: 'UnavailableError', code: 'blobs-unavailable' });
    }
    await way.mend();
    expect(Buffer.from(await blobs.get(W, digest)).toString()).toBe('precious');
    await blobs.close();
    await way.cut();
  });

  test('what is wrong with the settings is said when it is opened, without a secret', async () => {
    const options = await freshBucket();
    const wrong = { accessKeyId: place.credentials.accessKeyId, secretAccessKey: 'hunter2-hunter2' };
    for (const [given, said] of [
      [{ ...options, bucket: 'no-such-bucket' }, /the bucket does not exist/],
      [{ ...options, credentials: wrong }, /credentials|secret key/],
      [{ ...options, endpoint: 'http://127.0.0.1:9', attemptsMax: 1 }, /nothing answers there/],
    ] as const) {
      const refused = await openS3Blobs(given).then(
        () => undefined,
        (error: unknown) => error as Error,
      );
      expect(refused).toMatchObject({ name: expect.stringMatching(/ConfigError|UnavailableError/) });
      expect(refused!.message).toMatch(said);
      expect(JSON.stringify([refused, refused!.message, refused!.stack])).not.toContain('hunter2');
    }
    await expect(openS3Blobs({ ...options, prefix: 'no-slash' })).rejects.toMatchObject({
      code: 'blob-prefix-invalid',
    });
  });
});

/** A connection to the server that can be cut and restored. */
async function relayTo(address: string) {
  const { hostname, port } = new URL(address);
  const sockets = new Set<Socket>();
  const relay = createRelay((socket) => {
    const onward = connect(Number(port), hostname);
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => {}).on('close', () => sockets.delete(end));
    }
    socket.pipe(onward).pipe(socket);
  });
  const listen = (at: number) => new Promise<void>((resolve) => relay.listen(at, '127.0.0.1', resolve));
  await listen(0);
  const own = (relay.address() as AddressInfo).port;
  return {
    endpoint: `http://127.0.0.1:${own}`,
    mend: () => listen(own),
    async cut() {
      const closed = new Promise((resolve) => relay.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Servers that behave as no sound one would. */
let answer: Parameters<typeof createServer>[1];
let fake: Server;
let endpoint: string;
beforeAll(async () => {
  fake = createServer((request, response) => answer!(request, response));
  await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
});
afterEach(() => fake.closeAllConnections());
afterAll(() => new Promise((resolve) => fake.close(resolve)));

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
const refusal =
  (status: number, code: string): typeof answer =>
  (request, response) => {
    if (request.method === 'HEAD') response.writeHead(200).end();
    else {
      request.resume();
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>so it is</Message></Error>`);
    }
  };

test.each([
  [507, 'InsufficientStorage', 'blobs-unavailable', /the store is full/],
  [503, 'SlowDown', 'blobs-unavailable', /fewer requests/],
  [403, 'InvalidObjectState', 'blob-archived', /restored first/],
  [500, 'InternalError', 'blobs-unavailable', /so it is/],
])('an answer of %i %s is told as what it is', async (status, code, reported, said) => {
  answer = refusal(status, code);
  const blobs = await openS3Blobs({ endpoint, credentials, bucket: 'b', attemptsMax: 1 });
  for (const call of [() => blobs.put(W, text('x')), () => blobs.get(W, hash('sha256', 'x'))]) {
    await expect(call()).rejects.toMatchObject({
      name: 'UnavailableError',
      code: reported,
      message: expect.stringMatching(said),
    });
  }
  await blobs.close();
});

test('a server that lies is found out, and one that hangs is not waited for', async () => {
  answer = (request, response) => {
    request.resume();
    if (request.method === 'PUT') response.writeHead(412).end();
    else response.writeHead(200).end(request.method === 'GET' ? 'other bytes' : undefined);
  };
  const blobs = await openS3Blobs({ endpoint, credentials, bucket: 'b', attemptsMax: 1, requestTimeoutMs: 300 });
  await expect(blobs.get(W, hash('sha256', 'x'))).rejects.toMatchObject({ name: 'CorruptError', code: 'blob-damaged' });
  answer = (request) => void request.resume();
  await expect(blobs.get(W, hash('sha256', 'x'))).rejects.toMatchObject({ code: 'blobs-unavailable' });
  await blobs.close();
});

test('a request that is refused for a moment is made again', async () => {
  let refused = 0;
  answer = (request, response) => {
    const isProbe = request.url!.includes(PROBE_NAME);
    if (request.method === 'PUT' && !isProbe && refused < 2) {
      refused += 1;
      refusal(503, 'SlowDown')!(request, response);
      return;
    }
    request.resume();
    response.writeHead(isProbe ? 412 : 200).end();
  };
  const blobs = await openS3Blobs({ endpoint, credentials, bucket: 'b' });
  expect(await blobs.put(W, text('x'))).toBe(hash('sha256', 'x'));
  expect(refused).toBe(2);
  await blobs.close();
});
