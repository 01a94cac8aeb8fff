/** Places of followers: no caller and no tenant takes those of others. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { ContentRoom } from '@tidemark/access/reads';
import type { TenantId } from '@tidemark/core';
import type { Principal } from '@tidemark/ports';
import { systemClock } from '@tidemark/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { reportedOf } from '../problem.ts';
import type { EventSink } from './sink.ts';
import { STREAMS_MAX, STREAMS_OF_PRINCIPAL_MAX, Streams } from './streams.ts';

let streams: Streams;
beforeEach(() => {
  streams = new Streams({ ports: { clock: systemClock } as never, client: {} as never }, new ContentRoom(), () => {});
});
afterEach(() => streams.close());

const principal = (tenant: string | null, subject = 'a'): Principal => ({
  ...{ subject, tenant: tenant as TenantId | null, roles: ['viewer'], kind: 'key' },
});

/** Follows until refused, with as many callers as it takes. */
function fill(tenant: string | null): (() => void)[] {
  const places: (() => void)[] = [];
  try {
    for (;;) places.push(streams.admit(principal(tenant, `caller${Math.floor(places.length / 1_000)}`)));
  } catch (error) {
    expect(reportedOf(error)).toMatchObject({
      problem: { status: 429, code: 'streams-too-many' },
      retryAfterS: 1,
      isFault: false,
    });
    return places;
  }
}

it('of one tenant take half, and leave the next half of the rest, whoever they are', () => {
  const acme = fill('acme');
  expect(acme).toHaveLength(STREAMS_MAX / 2);
  const globex = fill('globex');
  expect(globex).toHaveLength(STREAMS_MAX / 4);
  expect(() => streams.admit(principal('acme', 'another'))).toThrowError(/tenant/);
  streams.admit(principal('initech'))();
  // A place that is given back goes to a caller with fewer.
  for (const leave of acme) leave();
  expect(fill('globex')).toHaveLength(STREAMS_MAX / 4);
  expect(fill(null)).toHaveLength(STREAMS_MAX / 2);
});

it('of one caller are bounded by themselves, and given back once', () => {
  const places = Array.from({ length: STREAMS_OF_PRINCIPAL_MAX }, () => streams.admit(principal('acme')));
  expect(() => streams.admit(principal('acme'))).toThrowError(/one caller/);
  places[0]!();
  streams.admit(principal('acme'));
  streams.admit(principal('acme', 'another'));
});

it('of a caller that left while its stream was looked up ends at once', async () => {
  const opened = Promise.withResolvers<EventSink>();
  const server = createServer(async (request, response) => {
    request.on('error', () => {});
    await once(response, 'close');
    opened.resolve(streams.open(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(server, 'request');
  socket.destroy();
  expect((await opened.promise).closed.aborted).toBe(true);
  server.close();
});

it('in another form never end as if they were whole, and in that of events in order', async () => {
  const form = { headers: {}, problem: () => Buffer.from('') };
  const server = createServer((request, response) => {
    streams.open(response, request.url === '/form' ? form : undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answers = await Promise.all(['form', 'events'].map((name) => fetch(`http://127.0.0.1:${port}/${name}`)));
  const texts = answers.map((answer) => answer.text());
  texts[0]!.catch(() => {});
  await streams.close();
  await expect(texts[0]).rejects.toThrowError();
  expect(await texts[1]).toContain('retry');
  server.close();
});
