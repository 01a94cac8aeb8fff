/**
 * Owns the tests of servers that ignore the condition of `create`: they are detected before anything is created, with one request once a
 * server has proved itself. Doubles of such servers stand before a real one, which is the control: it refuses.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { giveOn, type Relayed, startHttpRelay } from '@tidemark/testkit/http-relay';
import { describeServers } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { PROBE_NAME } from './s3-conditions.ts';
import { openS3Objects } from './s3-objects.ts';

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const unconditional = { name: 'ConfigError', code: 'objects-unconditional' };

describeServers('conditions on S3', ['s3'], ({ s3 }) => {
  const { origin: endpoint, username: accessKeyId, password: secretAccessKey } = new URL(s3);
  const place = { endpoint, credentials: { accessKeyId, secretAccessKey } };
  const client = new S3Client({ ...place, region: 'us-east-1', forcePathStyle: true });
  afterAll(() => client.destroy());
  const bucket = `conditions-${randomBytes(6).toString('hex')}`;
  beforeAll(() => client.send(new CreateBucketCommand({ Bucket: bucket })));

  const isProbe = ({ method, url }: IncomingMessage): boolean => method === 'PUT' && url!.includes(PROBE_NAME);
  /** The same prefix, through a test's relay; counts how often the probe was written. */
  async function behind(relayed: Relayed) {
    const options = { ...place, bucket, prefix: `tidemark/${randomBytes(6).toString('hex')}/`, attemptsMax: 1 };
    let probeCount = 0;
    const relay = await startHttpRelay(s3, async (request, response, pass) => {
      if (isProbe(request)) probeCount++;
      await relayed(request, response, pass);
    });
    onTestFinished(() => relay.close());
    const open = async () => {
      const objects = await openS3Objects({ ...options, endpoint: relay.endpoint });
      onTestFinished(() => objects.close());
      return objects;
    };
    return { open, probes: () => probeCount };
  }
  const passing: Relayed = async (_, response, pass) => giveOn(await pass(), response);
  function answer(status: number, code: string, ...[request, response]: Parameters<Relayed>): void {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(code === '' ? '' : `<?xml version="1.0"?><Error><Code>${code}</Code><Message>so</Message></Error>`);
  }

  test('one that holds it is asked twice the first time, and once by every later process; no listing shows it', async () => {
    const { open, probes } = await behind(passing);
    const objects = await open();
    expect(probes()).toBe(2);
    await Promise.all([objects.create('a', text('x')), objects.create('b', text('x'))]);
    expect(probes()).toBe(2);
    await (await open()).create('c', text('x'));
    expect(probes()).toBe(3);
    const names: string[] = [];
    for await (const name of objects.list('')) names.push(name);
    expect(names).toEqual(['a', 'b', 'c']);
  });

  test('one that writes over what is there is refused when it is opened, and told why', async () => {
    const { open } = await behind(async (...relayed) => {
      const [request, response, pass] = relayed;
      const done = await pass();
      if (request.method !== 'PUT' || done.statusCode !== 412) return giveOn(done, response);
      done.resume();
      response.writeHead(200, { etag: '"0"' });
      response.end();
    });
    await expect(open()).rejects.toMatchObject({
      ...unconditional,
      message: expect.stringMatching(/ignores the condition If-None-Match.*overwrites.*Use a server/),
    });
  });

  test('one that does not know it is refused as well', async () => {
    const { open } = await behind(async (...relayed) => {
      if (isProbe(relayed[0])) answer(501, 'NotImplemented', ...relayed);
      else await passing(...relayed);
    });
    await expect(open()).rejects.toMatchObject({
      ...unconditional,
      message: expect.stringMatching(/does not support/),
    });
  });

  test('whoever may only read opens it, and nothing is asked again', async () => {
    const { open, probes } = await behind(async (...relayed) => {
      if (relayed[0].method === 'PUT') answer(403, 'AccessDenied', ...relayed);
      else await passing(...relayed);
    });
    const objects = await open();
    expect(await objects.read('a')).toBeUndefined();
    await expect(objects.create('a', text('x'))).rejects.toMatchObject({ code: 'objects-unavailable' });
    expect(probes()).toBe(1);
  });

  test('one of which nothing can be told yet serves reads, and is asked again before it is written to', async () => {
    let isFull = true;
    let ignores = false;
    const { open } = await behind(async (...relayed) => {
      const [request, response] = relayed;
      if (request.method === 'PUT' && isFull) return answer(507, 'InsufficientStorage', ...relayed);
      if (!isProbe(request) || !ignores) return passing(...relayed);
      request.resume();
      response.end();
    });
    const objects = await open();
    expect(await objects.read('a')).toBeUndefined();
    await expect(objects.create('a', text('x'))).rejects.toMatchObject({ code: 'objects-unavailable' });
    [isFull, ignores] = [false, true];
    await expect(objects.create('a', text('x'))).rejects.toMatchObject(unconditional);
    expect(await objects.read('a')).toBeUndefined();
    ignores = false;
    expect(await objects.create('a', text('x'))).toBe(true);
  });
});
