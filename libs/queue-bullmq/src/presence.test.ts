/** Connections that tell of a holder's end; what strangers can't do. On this machine's own loop, without any server. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type HolderId, holderId } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PRESENCE_LINE_MAX_BYTES } from './limits.ts';
import { PresenceClient } from './presence-client.ts';
import { PresenceServer } from './presence-server.ts';

const a = holderId('worker a');

describe('presence', () => {
  let server: PresenceServer;
  let port: number;
  let gone: HolderId[];
  const clients: PresenceClient[] = [];

  beforeEach(async () => {
    gone = [];
    server = new PresenceServer({ host: '127.0.0.1', port: 0, onGone: (holder) => gone.push(holder) });
    port = await server.listen();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.vanish();
    await server.close();
  });

  const arrive = async (holder: HolderId, token = server.token): Promise<PresenceClient> => {
    const client = new PresenceClient(holder);
    clients.push(client);
    client.meet([{ id: 'c1', host: '127.0.0.1', port, token }]);
    if (token === server.token) await eventually(() => client.standing.length === 1);
    return client;
  };
  const stranger = async (...lines: string[]): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    for (const line of lines) socket.write(line);
    return socket;
  };

  test('tells of a holder that vanished, and not of one that left', async () => {
    const client = await arrive(a);
    expect(server.isConnected(a)).toBe(true);
    client.vanish();
    await eventually(() => gone.length > 0);
    expect(gone).toEqual([a]);
    expect(server.goneSinceMs(a)).toBeTypeOf('number');
    const polite = await arrive(holderId('b'));
    await polite.leave();
    await (await arrive(holderId('c'))).vanish();
    await eventually(() => gone.length > 1);
    expect(gone).toEqual([a, 'c']);
  });

  test('tells of nobody who comes back, or has another connection', async () => {
    (await arrive(a)).vanish();
    const second = await arrive(a);
    const third = await arrive(a);
    second.vanish();
    (await arrive(holderId('other'))).vanish();
    await eventually(() => gone.length > 0);
    expect(gone).toEqual(['other']);
    expect(server.goneSinceMs(a)).toBeUndefined();
    expect(third.standing).toEqual(['c1']);
  });

  test('takes no one for a holder who does not know the token', async () => {
    const impostor = await arrive(a, 'x'.repeat(server.token.length));
    for (const line of [
      `hello ${a}\n`,
      `hello wrong ${a}\n`,
      'bye\n',
      `ping ${server.token} a\n`,
      `hello ${server.token} %\n`,
    ]) {
      await once(await stranger(line), 'close');
    }
    expect(server.isConnected(a)).toBe(false);
    expect(impostor.standing).toEqual([]);
    impostor.vanish();
    expect(gone).toEqual([]);
  });

  test('cuts off who sends a line without end', async () => {
    await once(await stranger('x'.repeat(PRESENCE_LINE_MAX_BYTES + 1)), 'close');
  });

  test('a port that is taken is a ConfigError', async () => {
    const other = new PresenceServer({ host: '127.0.0.1', port, onGone: () => {} });
    await expect(other.listen()).rejects.toMatchObject({ code: 'presence-address' });
  });
});
