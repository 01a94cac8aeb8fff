/** A spot notice is found in a file or at an address, once; what can't be read is none. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configFromEnv } from './config.ts';
import { noSpotNotice, watchSpotNotice } from './spot-notice.ts';

describe('a spot notice', () => {
  let notices: string[];
  let errors: string[];
  let stop: () => void;
  let folder: string;
  let server: Server;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let askedCount: number;

  beforeEach(async () => {
    [notices, errors, askedCount] = [[], [], 0];
    stop = () => {};
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-notice-'));
    server = createServer((request, response) => {
      askedCount++;
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  const watch = (url: string): void => {
    stop = watchSpotNotice({
      url,
      onNotice: (source) => notices.push(source),
      onError: (_, error) => errors.push(String(error)),
    });
  };
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/notice`;
  const says = (status: number, text = '') => {
    answer = (_, response) => void response.writeHead(status).end(text);
  };

  it('is a file that is there and not empty', async () => {
    const file = path.join(folder, 'notice');
    await writeFile(file, '');
    watch(pathToFileURL(file).href);
    await writeFile(file, 'terminate');
    await eventually(() => notices.length > 0);
    expect(notices).toEqual(['notice file']);
    expect(errors).toEqual([]);
  });

  it('is an answer with a body; 404, an empty one and FALSE are none', async () => {
    for (const [status, text] of [
      [404, 'not found'],
      [200, ''],
      [200, 'FALSE\n'],
    ] as const) {
      // biome-ignore format: one line
      says(status, text);
      const before = askedCount;
      watch(url());
      await eventually(() => askedCount > before);
      stop();
    }
    expect(notices).toEqual([]);
    says(404);
    watch(url());
    says(200, '{"action":"terminate"}');
    await eventually(() => notices.length > 0);
    expect(notices).toEqual(['notice address']);
    expect(errors).toEqual([]);
  });

  it('is asked for with a token where the service wants one', async () => {
    answer = (request, response) => {
      if (request.method === 'PUT' && request.url === '/latest/api/token') response.end('secret');
      else if (request.headers['x-aws-ec2-metadata-token'] === 'secret') response.end('{"action":"stop"}');
      else response.writeHead(401).end();
    };
    watch(url());
    await eventually(() => notices.length > 0);
  });

  it('is none, and told of, when the service fails, is not there or the file is a folder', async () => {
    says(500);
    watch(pathToFileURL(folder).href);
    await eventually(() => errors.length > 0);
    stop();
    watch(url());
    await eventually(() => errors.length > 1);
    stop();
    watch('http://127.0.0.1:1/notice');
    await eventually(() => errors.length > 2);
    expect(notices).toEqual([]);
  });

  it('keeps who starts under it waiting, also when it can not be read any more, until it is gone', async () => {
    let hasStarted = false;
    says(200, '{"action":"terminate"}');
    const waits = noSpotNotice({
      url: url(),
      onNotice: (source) => notices.push(source),
      onError: (_, error) => errors.push(String(error)),
    }).then(() => {
      hasStarted = true;
    });
    await eventually(() => askedCount > 1);
    says(500);
    await eventually(() => errors.length > 0);
    const before = askedCount;
    await eventually(() => askedCount > before);
    expect([hasStarted, notices]).toEqual([false, ['notice address']]);
    says(404);
    await waits;
  });

  it('keeps nobody waiting where there is none, and where that can not be known at first', async () => {
    const places = { onNotice: (source: string) => notices.push(source), onError: () => errors.push('told') };
    await noSpotNotice({ url: '', ...places });
    await noSpotNotice({ url: pathToFileURL(path.join(folder, 'none')).href, ...places });
    says(500);
    await noSpotNotice({ url: url(), ...places });
    expect([notices, errors]).toEqual([[], ['told']]);
  });

  it.each(['/var/run/leaving', 'file://node/leaving', 'file:leaving', 'http://', 'ftp://node/leaving'])(
    'is looked for at an address or in a file, not at %j',
    (place) => {
      const servers = {
        TIDEMARK_KAFKA_BROKERS: 'kafka:9092',
        TIDEMARK_REDIS_URL: 'redis://redis',
        TIDEMARK_POSTGRES_URL: 'postgres://postgres/tidemark',
        TIDEMARK_ENCRYPTION: 'off',
      };
      const config = (TIDEMARK_SPOT_NOTICE_URL: string) => configFromEnv({ ...servers, TIDEMARK_SPOT_NOTICE_URL });
      expect(() => config(place)).toThrow(/TIDEMARK_SPOT_NOTICE_URL: expected http.*file:\/\/\/PATH/);
      expect(config('file:///var/run/leaving').spotNoticeUrl).toBe('file:///var/run/leaving');
    },
  );
});
