/**
 * Owns the tests of presence with certificates on both sides: a member of the authority is accepted, and nobody else receives or sends a
 * byte.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectPlain, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { type HolderId, holderId } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import { pemOf, ThrowAwayAuthority } from '@tidemark/testkit/servers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PresenceClient } from './presence-client.ts';
import { PresenceServer, type PresenceTls } from './presence-server.ts';

const a = holderId('worker a');

describe('presence over TLS', () => {
  let folder: string;
  let ours: PresenceTls;
  let theirs: PresenceTls;
  let server: PresenceServer;
  let port: number;
  let gone: HolderId[];
  const clients: PresenceClient[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tidemark-presence-'));
    const made = async (name: string): Promise<PresenceTls> => {
      const authority = await ThrowAwayAuthority.make(path.join(folder, name), name);
      // Its name matches no host.
      const files = await authority.sign('member', { names: 'DNS:tidemark.internal' });
      return (await pemOf({ ...files, ca: authority.ca })) as PresenceTls;
    };
    ours = await made('ours');
    theirs = await made('theirs');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  beforeEach(async () => {
    gone = [];
    server = new PresenceServer({ host: '127.0.0.1', port: 0, tls: ours, onGone: (holder) => gone.push(holder) });
    port = await server.listen();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.vanish();
    await server.close();
  });

  const meet = (tls: PresenceTls | undefined, at = port): PresenceClient => {
    const client = new PresenceClient(a, tls);
    clients.push(client);
    client.meet([{ id: 'c1', host: '127.0.0.1', port: at, token: server.token }]);
    return client;
  };

  test('takes who has a certificate of the authority, and notices their end', async () => {
    const client = meet(ours);
    await eventually(() => client.standing.length === 1);
    expect(server.isConnected(a)).toBe(true);
    client.vanish();
    await eventually(() => gone.length > 0);
    expect(gone).toEqual([a]);
    expect(server.hasEnded(a)).toBe(true);
    const back = meet(ours);
    await eventually(() => back.standing.length === 1);
    await back.leave();
    await eventually(() => !server.isConnected(a));
    expect(server.hasEnded(a)).toBe(false);
  });

  test('takes nobody with a certificate of another authority, with none, or in clear', async () => {
    const client = meet({ ...ours, cert: theirs.cert, key: theirs.key });
    const closed: string[] = [];
    for (const [name, open] of [
      [
        'theirs',
        () => connect({ port, host: '127.0.0.1', ...theirs, ca: ours.ca, checkServerIdentity: () => undefined }),
      ],
      ['none', () => connect({ port, host: '127.0.0.1', ca: ours.ca, checkServerIdentity: () => undefined })],
      ['clear', () => connectPlain(port, '127.0.0.1')],
    ] as const) {
      const socket: Socket = open();
      const heard: Buffer[] = [];
      socket.on('error', () => {});
      socket.on('data', (bytes) => heard.push(bytes));
      const end = new Promise((resolve) => socket.once('close', resolve));
      socket.once(name === 'clear' ? 'connect' : 'secureConnect', () => socket.write(`hello ${server.token} eve\n`));
      await end;
      // An alert at most.
      if (name !== 'clear') expect(Buffer.concat(heard).toString()).toBe('');
      closed.push(name);
    }
    expect(closed).toEqual(['theirs', 'none', 'clear']);
    expect(server.isConnected(holderId('eve'))).toBe(false);
    expect(client.standing).toEqual([]);
  });

  test('says nothing to a coordinator whose certificate is another authority’s, or that speaks in clear', async () => {
    const other = new PresenceServer({ host: '127.0.0.1', port: 0, tls: theirs, onGone: () => {} });
    const heard: Buffer[] = [];
    const plain = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => heard.push(bytes));
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    try {
      const wrong = meet(ours, await other.listen());
      meet(ours, (plain.address() as { port: number }).port);
      await eventually(() => heard.length > 0);
      expect(heard[0]![0]).toBe(0x16);
      expect(Buffer.concat(heard).toString('latin1')).not.toContain(server.token);
      expect(wrong.standing).toEqual([]);
      expect(other.isConnected(a)).toBe(false);
    } finally {
      for (const client of clients.splice(0)) client.vanish();
      await other.close();
      await new Promise((resolve) => plain.close(resolve));
    }
  });
});
