/** Following over real connections: nothing is missed and nothing comes twice, whatever happens to connections and to the server. */

import { connect as connectTo } from 'node:net';
import { connect } from '@tidemark/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

interface ReceivedEvent {
  readonly position: number;
  readonly event_id: string;
  readonly type: string;
  readonly payload?: unknown;
}

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator });
});
afterAll(() => served.close());

const client = (options: Partial<Parameters<typeof connect>[0]> = {}) =>
  connect({ url: served.url, token: 'admin', ...options });

async function followed(
  id: string,
  { from = 1, ...options }: { readonly from?: number } & Partial<Parameters<typeof connect>[0]> = {},
): Promise<ReceivedEvent[]> {
  const received: ReceivedEvent[] = [];
  for await (const { name, data } of client(options).run(id).events({ from }))
    if (name === 'event') received.push(data as ReceivedEvent);
  return received;
}

const positions = (received: readonly ReceivedEvent[]): readonly number[] => received.map(({ position }) => position);
const upTo = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

describe('a follower', () => {
  it('is told all events of a workflow that has ended, from any position', async () => {
    const run = await client().start('greet', { name: 'Ana' });
    await run.result();
    const { position } = await run.get();
    const all = await followed(run.id);
    expect(positions(all)).toEqual(upTo(1, position));
    expect(all[0]).toMatchObject({ type: 'WorkflowOpened', payload: { input: { name: 'Ana' } } });
    expect(all.at(-1)).toMatchObject({ type: 'WorkflowCompleted' });
    expect(await followed(run.id, { from: position - 1 })).toEqual(all.slice(-2));
    const response = await fetch(`${served.url}/v1/workflows/${run.id}/events?from=${position + 1}`, {
      headers: { authorization: 'Bearer admin' },
    });
    expect(response.status).toBe(204);
  });

  it('is told while it happens, and the same as who comes later', async () => {
    const run = await client().start('patient', { times: 20 });
    const live = followed(run.id);
    for (let at = 0; at < 20; at++) await run.signal('go', at);
    await run.result();
    expect(await live).toEqual(await followed(run.id));
  });

  it('who may not see content is told the same without it', async () => {
    const run = await client().start('patient', {});
    await run.signal('go', 'a secret');
    await run.result();
    const received = await followed(run.id, { token: 'viewer' });
    expect(positions(received)).toEqual(positions(await followed(run.id)));
    expect(JSON.stringify(received)).not.toContain('a secret');
    await expect(followed(run.id, { token: 'viewer other' })).rejects.toMatchObject({ code: 'workflow-unknown' });
  });

  it('misses nothing and is told nothing twice while connections are cut', async () => {
    const run = await client().start('patient', { times: 40 });
    let cuts = 0;
    const followers = [followed(run.id), followed(run.id), followed(run.id, { from: 3 })];
    for (let at = 0; at < 40; at++) {
      await run.signal('go', at);
      if (at % 8 === 7) cuts += cutStreams(served);
    }
    await run.result();
    const { position } = await run.get();
    const [one, other, later] = await Promise.all(followers);
    expect(cuts).toBeGreaterThan(5);
    expect(positions(one!)).toEqual(upTo(1, position));
    expect(other).toEqual(one);
    expect(positions(later!)).toEqual(upTo(3, position));
  });

  it('is told things twice when it does not say what it has (control)', async () => {
    const forgetful: typeof fetch = (address, options) => {
      const headers = new Headers(options?.headers);
      headers.delete('last-event-id');
      return fetch(address, { ...options, headers });
    };
    const run = await client().start('patient', { times: 4 });
    const follower = followed(run.id, { fetch: forgetful });
    for (let at = 0; at < 4; at++) {
      await run.signal('go', at);
      if (at < 3) cutStreams(served);
    }
    const received = await follower;
    expect(received.length).toBeGreaterThan((await run.get()).position);
  });
});

/** Cuts every connection that has a stream on it, without a word; returns how many. */
function cutStreams({ streams }: Served): number {
  let count = 0;
  for (const socket of streams) {
    socket.destroy();
    count++;
  }
  return count;
}

describe('a server that goes down', () => {
  it('is followed on when another one comes at its place, over the same history', async () => {
    const first = await serveApi({ authenticator: sayingAuthenticator });
    const { port } = new URL(first.url);
    const at = connect({ url: first.url, token: 'admin' });
    const run = await at.start('patient', { times: 30 }, { id: 'outlives' });
    const received: ReceivedEvent[] = [];
    let lostCount = 0;
    const following = (async () => {
      for await (const { name, data } of run.events({ onLost: () => lostCount++ }))
        if (name === 'event') received.push(data as ReceivedEvent);
    })();
    for (let each = 0; each < 10; each++) await run.signal('go', each);
    await expect.poll(() => received.length).toBeGreaterThan(5);
    await first.close({ keepsFolder: true });
    const second = await serveApi({ authenticator: sayingAuthenticator, folder: first.folder, port: Number(port) });
    try {
      for (let each = 10; each < 30; each++) await run.signal('go', each);
      await run.result();
      await following;
      expect(lostCount).toBeGreaterThan(0);
      expect(positions(received)).toEqual(upTo(1, (await run.get()).position));
      expect(new Set(received.map(({ event_id }) => event_id)).size).toBe(received.length);
    } finally {
      await second.close();
    }
  });
});

describe('a follower that does not read', () => {
  it('is cut off, and holds up nobody', async () => {
    const run = await client().start('patient', { times: 60 });
    const { hostname, port } = new URL(served.url);
    const stuck = connectTo(Number(port), hostname);
    stuck.pause();
    stuck.write(
      `GET /v1/workflows/${run.id}/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer admin\r\n\r\n`,
    );
    const gone = new Promise((resolve) => stuck.once('close', resolve).once('error', resolve));
    await expect.poll(() => served.streams.size).toBeGreaterThan(0);
    const reading = followed(run.id);
    // Each is near the largest payload that a stream carries.
    for (let at = 0; at < 60; at++) await run.signal('go', 'x'.repeat(100_000));
    await run.result();
    expect(positions(await reading)).toEqual(upTo(1, (await run.get()).position));
    await expect.poll(() => served.streams.size).toBe(0);
    stuck.resume();
    await gone;
  });
});
