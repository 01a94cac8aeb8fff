/**
 * Runs the contract of ObjectStore on a real S3 server, and what only this adapter promises: lost answers, faults. Cold reads are in
 * s3-recall.s3.test.ts.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CreateBucketCommand, HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStore } from '@tidemark/ports';
import { objectStoreContract } from '@tidemark/testkit/contracts/object-store';
import { giveOn, headersWithout, type Relayed, startHttpRelay } from '@tidemark/testkit/http-relay';
import { describeServers } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { REQUESTS_AT_ONCE } from './s3-bucket.ts';
import { PROBE_NAME } from './s3-conditions.ts';
import { ASKED_FIRST_BYTES, openS3Objects, type S3ObjectsOptions } from './s3-objects.ts';

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const said = async (objects: ObjectStore, name: string): Promise<string> =>
  Buffer.from((await objects.read(name))!).toString();
const unavailable = { name: 'UnavailableError', code: 'objects-unavailable' };
const archived = { name: 'UnavailableError', code: 'object-archived' };

async function all(objects: ObjectStore, prefix = ''): Promise<string[]> {
  const names: string[] = [];
  for await (const name of objects.list(prefix)) names.push(name);
  return names;
}

/** Open for one test. */
async function opened(options: S3ObjectsOptions): Promise<ObjectStore> {
  const objects = await openS3Objects(options);
  onTestFinished(() => objects.close());
  return objects;
}

function refuse(status: number, code: string, ...[request, response]: Parameters<Relayed>): void {
  request.resume();
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>so it is</Message></Error>`);
}

function partsOf(address: string) {
  const { origin, username, password } = new URL(address);
  return { endpoint: origin, credentials: { accessKeyId: username, secretAccessKey: password } };
}

describeServers('objects on S3', ['s3'], ({ s3 }) => {
  const place = partsOf(s3);
  const client = new S3Client({ ...place, region: 'us-east-1', forcePathStyle: true });
  afterAll(() => client.destroy());

  const bucket = `objects-${randomBytes(6).toString('hex')}`;
  beforeAll(() => client.send(new CreateBucketCommand({ Bucket: bucket })));

  const freshPrefix = () => ({ ...place, bucket, prefix: `tidemark/${randomBytes(6).toString('hex')}/` });
  /** A relay to the server under a test's control, and a prefix there. Requests of the opening pass. */
  async function prefixBehind(relayed: Relayed) {
    const direct = freshPrefix();
    const relay = await startHttpRelay(s3, async (request, response, pass) => {
      if (request.url!.includes(PROBE_NAME)) giveOn(await pass(), response);
      else await relayed(request, response, pass);
    });
    onTestFinished(() => relay.close());
    return { direct, behind: { ...direct, endpoint: relay.endpoint } };
  }

  objectStoreContract(
    's3',
    async () => {
      const options = freshPrefix();
      const objects = await openS3Objects(options);
      return { objects, again: () => openS3Objects(options), close: () => objects.close() };
    },
    { largeBytes: ASKED_FIRST_BYTES + 1_000_000 },
  );

  test('more than a page is listed in order, and foreign objects are not', async () => {
    const options = freshPrefix();
    const { prefix } = options;
    const objects = await opened(options);
    const names = Array.from({ length: 1_050 }, (_, index) => `p${index % 20 === 0 ? '' : `=${index % 9}`}/${index}`);
    await Promise.all(names.map((name) => objects.create(name, text(name))));
    for (const Key of [
      `${prefix}.hidden`,
      `${prefix}p/a b`,
      `${prefix}ü`,
      `${bucket}/1`,
      `${prefix.slice(0, -1)}-2/p/1`,
    ]) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'foreign' }));
    }
    expect(await all(objects)).toEqual(names.toSorted());
    expect(objects.place).toBe(`s3://${bucket}/${prefix}`);
  });

  test('the storage class is that of the options', async () => {
    const options = freshPrefix();
    const objects = await opened({ ...options, storageClass: 'STANDARD_IA' });
    const names = ['small', 'large'];
    await objects.create('small', text('x'));
    await objects.create('large', new Uint8Array(ASKED_FIRST_BYTES + 1));
    for (const name of names) {
      const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `${options.prefix}${name}` }));
      expect([name, head.StorageClass]).toEqual([name, 'STANDARD_IA']);
      expect(await objects.recall(name)).toEqual({ state: 'ready' });
    }
  });

  test('of many requests so many are under way, and the others wait here, not as if the server did not answer', async () => {
    let underWay = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    const { behind } = await prefixBehind(async (request, response, pass) => {
      if (request.method === 'GET') return void response.end();
      underWay++;
      most = Math.max(most, underWay);
      if (underWay === REQUESTS_AT_ONCE) {
        // When this is answered, every request that was sent before has arrived.
        await fetch(behind.endpoint);
        full.resolve();
      }
      if (request.method === 'PUT') await full.promise;
      const answer = await pass();
      underWay--;
      giveOn(answer, response);
    });
    const objects = await opened(behind);
    const names = Array.from({ length: 4 * REQUESTS_AT_ONCE }, (_, index) => `many/${index}`);
    const created = await Promise.all(names.map((name) => objects.create(name, text(name))));
    expect([created.every((isOurs) => isOurs), most]).toEqual([true, REQUESTS_AT_ONCE]);
  });

  test('an object where the server has a folder is refused, and nothing is said to be there', async () => {
    const objects = await opened(freshPrefix());
    await objects.create('a/b', text('x'));
    const inTheWay = { ...unavailable, message: expect.stringMatching(/in the way/) };
    await expect(objects.create('a', text('y'))).rejects.toMatchObject(inTheWay);
    expect(await all(objects)).toEqual(['a/b']);
  });

  describe('whose object it is', () => {
    const isWrite = ({ method }: IncomingMessage): boolean => method === 'PUT';
    /** The server executes the next writes, and their answers are lost. */
    function losing(isLost: (request: IncomingMessage) => boolean, times = 1): Relayed {
      return async (request, response, pass) => {
        const answer = await pass();
        if (!isLost(request) || times-- <= 0) return giveOn(answer, response);
        answer.resume();
        response.destroy();
      };
    }

    test('the answer was lost, and the next attempt meets our own object: it is ours', async () => {
      const { behind } = await prefixBehind(losing(isWrite));
      const objects = await opened(behind);
      expect(await objects.create('a/b', text('x'))).toBe(true);
      expect(await objects.create('a/b', text('x'))).toBe(false);
    });

    test('control: where no mark is kept nobody knows, and the answer is false', async () => {
      const lose = losing(isWrite);
      const { behind } = await prefixBehind(async (request, response, pass) => {
        if (request.method !== 'HEAD') return lose(request, response, pass);
        const answer = await pass();
        giveOn(
          answer,
          response,
          headersWithout(answer, (header) => header.startsWith('x-amz-meta-')),
        );
      });
      const objects = await opened(behind);
      expect(await objects.create('a/b', text('x'))).toBe(false);
      expect(await said(objects, 'a/b')).toBe('x');
    });

    test('somebody else was faster with the same bytes, and that answer was lost: it is not ours', async () => {
      let others: ObjectStore | undefined;
      const lose = losing(isWrite);
      const { direct, behind } = await prefixBehind(async (request, response, pass) => {
        if (isWrite(request)) await others!.create('a/b', text('x'));
        await lose(request, response, pass);
      });
      others = await opened(direct);
      const objects = await opened(behind);
      expect(await objects.create('a/b', text('x'))).toBe(false);
    });

    test('no attempt has an answer: unknown; asked again, it is there', async () => {
      const { behind } = await prefixBehind(losing(isWrite, 2));
      const objects = await opened({ ...behind, attemptsMax: 2 });
      await expect(objects.create('a/b', text('x'))).rejects.toMatchObject(unavailable);
      expect(await objects.create('a/b', text('x'))).toBe(false);
      expect(await said(objects, 'a/b')).toBe('x');
    });

    test.each([
      [412, 'PreconditionFailed'],
      [409, 'ConditionalRequestConflict'],
    ])('refused with %i %s and nothing is there: tried again; always so: unavailable', async (status, code) => {
      let refusals = 2;
      const { behind } = await prefixBehind(async (request, response, pass) => {
        if (!isWrite(request) || refusals-- <= 0) return giveOn(await pass(), response);
        refuse(status, code, request, response, pass);
      });
      const objects = await opened(behind);
      expect(await objects.create('a', text('x'))).toBe(true);
      refusals = Number.POSITIVE_INFINITY;
      await expect(objects.create('b', text('x'))).rejects.toMatchObject(unavailable);
      expect(await objects.read('b')).toBeUndefined();
    });
  });

  test('what is wrong with the settings is said when it is opened, without a secret', async () => {
    const options = freshPrefix();
    const wrong = { accessKeyId: place.credentials.accessKeyId, secretAccessKey: 'hunter2-hunter2' };
    for (const [given, reported] of [
      [
        { ...options, bucket: 'no-such-bucket' },
        { name: 'ConfigError', code: 'object-bucket-invalid' },
      ],
      [{ ...options, credentials: wrong }, { name: expect.stringMatching(/ConfigError|UnavailableError/) }],
      [{ ...options, endpoint: 'http://127.0.0.1:9', attemptsMax: 1 }, unavailable],
      [
        { ...options, prefix: 'no-slash' },
        { name: 'InvalidError', code: 'object-prefix-invalid' },
      ],
    ] as const) {
      const refused = await openS3Objects(given).then(
        () => undefined,
        (error: unknown) => error as Error,
      );
      expect(refused).toMatchObject(reported);
      expect(JSON.stringify([refused, refused!.message, refused!.stack])).not.toContain('hunter2');
    }
  });

  describe('faults', () => {
    /** A server that behaves as no sound one would, once the store is open. */
    async function openFaulty(relayed: Relayed, options: Partial<S3ObjectsOptions> = {}) {
      let isOpen = false;
      const { behind } = await prefixBehind(async (request, response, pass) => {
        if (isOpen) await relayed(request, response, pass);
        else giveOn(await pass(), response);
      });
      const objects = await opened({ ...behind, attemptsMax: 1, ...options });
      isOpen = true;
      return objects;
    }
    const calls = (objects: ObjectStore) => [
      () => objects.create('x', text('x')),
      () => objects.read('x'),
      () => all(objects),
      () => objects.remove('x'),
      () => objects.recall('x'),
    ];

    test.each([
      [507, 'InsufficientStorage', unavailable, /the store is full/],
      [403, 'QuotaExceeded', unavailable, /the quota is used up/],
      [503, 'SlowDown', unavailable, /fewer requests/],
      [403, 'AccessDenied', unavailable, /may not do this/],
      [403, 'InvalidObjectState', archived, /restored first/],
      [500, 'InternalError', unavailable, /so it is/],
    ])('an answer of %i %s is told as what it is', async (status, code, reported, reason) => {
      const objects = await openFaulty(async (...request) => refuse(status, code, ...request));
      for (const call of calls(objects).slice(0, 3)) {
        await expect(call()).rejects.toMatchObject({ ...reported, message: expect.stringMatching(reason) });
      }
    });

    test.each<[string, Relayed, RegExp]>([
      ['does not answer', async (request) => void request.resume(), /did not answer in time/],
      ['goes away', async (request) => void request.socket.destroy(), /the connection broke/],
    ])('a server that %s is unavailable', async (_, relayed, reason) => {
      const objects = await openFaulty(relayed, { requestTimeoutMs: 200 });
      for (const call of calls(objects)) {
        await expect(call()).rejects.toMatchObject({ ...unavailable, message: expect.stringMatching(reason) });
      }
    });

    test('a server that is down is unavailable', async () => {
      const direct = freshPrefix();
      const relay = await startHttpRelay(s3, async (_, response, pass) => giveOn(await pass(), response));
      const objects = await opened({ ...direct, endpoint: relay.endpoint, attemptsMax: 1 });
      await relay.close();
      for (const call of calls(objects)) {
        await expect(call()).rejects.toMatchObject({
          ...unavailable,
          message: expect.stringMatching(/nothing answers|connection broke/),
        });
      }
    });

    test('a request that is refused for a moment is made again', async () => {
      let refused = 0;
      const relayed: Relayed = async (request, response, pass) => {
        if (request.method === 'PUT' && refused++ < 2) refuse(503, 'SlowDown', request, response, pass);
        else giveOn(await pass(), response);
      };
      const objects = await openFaulty(relayed, { attemptsMax: 4 });
      expect(await objects.create('x', text('x'))).toBe(true);
      expect([refused, await said(objects, 'x')]).toEqual([3, 'x']);
    });

    test('an answer that is cut off is unavailable, never shorter bytes', async () => {
      const objects = await openFaulty(async (request, response, pass) => {
        const answer = await pass();
        if (request.method !== 'GET') return giveOn(answer, response);
        response.writeHead(answer.statusCode!, answer.rawHeaders);
        answer.once('data', (chunk: Buffer) => response.write(chunk, () => response.destroy()));
      });
      await objects.create('a', randomBytes(1_500_000));
      await expect(objects.read('a')).rejects.toMatchObject(unavailable);
    });
  });
});
