/** Connections that report a holder's end; what unauthenticated clients can't do. On this machine's own loop, without any server. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type HolderId, holderId } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PresenceClient } from './presence-client.ts';
import { PRESENCE_LINE_MAX_BYTES, PresenceServer } from './presence-server.ts';
import { UNAUTHENTICATED_LIMITS, type UnauthenticatedLimits } from './presence-unauthenticated.ts';

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
  const unauthenticated = async (...lines: string[]): Promise<Socket> => {
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
    expect([...server.gone().keys()]).toEqual([a]);
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
    expect([...server.gone().keys()]).toEqual(['other']);
    expect(third.standing).toEqual(['c1']);
  });

  describe('knows that a holder is gone (P1)', () => {
    /** A client of the protocol, which ends as the test says once it is greeted. */
    const end = async (name: string, from: (socket: Socket) => string, close: (socket: Socket) => void) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(`hello ${server.token} ${name}\n${from(socket)}`);
      await once(socket, 'data');
      close(socket);
      await eventually(() => !server.isConnected(holderId(name)));
      return server.hasEnded(holderId(name));
    };
    const own = ({ localAddress, localPort }: Socket): string => `from ${localAddress} ${localPort}\n`;

    test.each<[boolean, string, (socket: Socket) => string, (socket: Socket) => void]>([
      [true, 'its kernel closed the connection', own, (socket) => socket.end()],
      [false, 'it said farewell before it closed it', own, (socket) => socket.end('bye\n')],
      [false, 'the connection was reset', own, (socket) => socket.resetAndDestroy()],
      [false, 'a proxy in between closed it', () => 'from 127.0.0.1 1\n', (socket) => socket.end()],
      [false, 'it did not say from where it speaks', () => '', (socket) => socket.end()],
    ])('%s: %s', async (isKnown, _, from, close) => {
      expect(await end('raw', from, close)).toBe(isKnown);
    });

    test('not while another connection of it stands', async () => {
      await arrive(a);
      const impostor = connect(port, '127.0.0.1');
      await once(impostor, 'connect');
      impostor.write(`hello ${server.token} ${encodeURIComponent(a)}\n${own(impostor)}`);
      await once(impostor, 'data');
      impostor.end();
      await once(impostor, 'close');
      expect([server.isConnected(a), server.hasEnded(a)]).toEqual([true, false]);
    });

    test('as the client ends with its process, and not when a client that lives closes its connections, or is back', async () => {
      (await arrive(a)).vanish();
      await eventually(() => server.hasEnded(a));
      (await arrive(a)).abandon();
      await eventually(() => !server.isConnected(a));
      const polite = await arrive(holderId('b'));
      await polite.leave();
      expect([server.hasEnded(a), server.hasEnded(holderId('b'))]).toEqual([false, false]);
    });
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
      await once(await unauthenticated(line), 'close');
    }
    expect(server.isConnected(a)).toBe(false);
    expect(impostor.standing).toEqual([]);
    impostor.vanish();
    expect(gone).toEqual([]);
  });

  test('outlives whatever bytes it is sent', async () => {
    const lines = [`hello ${'\u00e9'.repeat(server.token.length)} x\n`, `hello ${'\u00ff'.repeat(24)} x\n`, '\0\n'];
    for (const line of lines) {
      const socket = await unauthenticated();
      socket.write(Buffer.from(line, 'latin1'));
      await once(socket, 'close');
    }
    for (let round = 0; round < 50; round++) {
      const socket = await unauthenticated();
      socket.write(Buffer.concat([Buffer.from('hello '), randomBytes(200), Buffer.from('\n')]));
      await once(socket, 'close');
    }
    await arrive(a);
    expect(server.isConnected(a)).toBe(true);
  });

  test('cuts off who sends a line without end', async () => {
    await once(await unauthenticated('x'.repeat(PRESENCE_LINE_MAX_BYTES + 1)), 'close');
  });

  test('a port that is taken is a ConfigError', async () => {
    const other = new PresenceServer({ host: '127.0.0.1', port, onGone: () => {} });
    await expect(other.listen()).rejects.toMatchObject({ code: 'presence-address' });
  });

  describe('bounds those who have not said their name', () => {
    const sockets: Socket[] = [];
    const limited: PresenceServer[] = [];
    afterEach(async () => {
      for (const socket of sockets.splice(0)) socket.destroy();
      for (const one of limited.splice(0)) await one.close();
    });

    /** A server of its own; `come` resolves once it has taken that many connections more. */
    const open = async (unauthenticated: UnauthenticatedLimits) => {
      const server = new PresenceServer({ host: '127.0.0.1', port: 0, onGone: () => {}, unauthenticated });
      limited.push(server);
      const port = await server.listen();
      const come = async (count: number, localAddress: string): Promise<readonly Socket[]> => {
        const come = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress }));
        for (const socket of come) socket.on('error', () => {});
        sockets.push(...come);
        await Promise.all(come.map((socket) => once(socket, 'connect')));
        return come;
      };
      const greet = (socket: Socket, name: string): Promise<string> =>
        new Promise((resolve) => {
          socket.once('data', (data) => resolve(data.toString()));
          socket.once('close', () => resolve('closed'));
          if (socket.closed) resolve('closed');
          socket.write(`hello ${server.token} ${name}\n`);
        });
      return { come, greet };
    };
    const comeBack = async (limits: UnauthenticatedLimits): Promise<number> => {
      const { come, greet } = await open(limits);
      const workers = await come(1_000, '127.0.0.1');
      // The last is greeted first: all were accepted before it.
      const last = await greet(workers.at(-1)!, 'last');
      const answers = await Promise.all(workers.slice(0, -1).map((socket, at) => greet(socket, `w${at}`)));
      return [...answers, last].filter((answer) => answer === 'ok\n').length;
    };

    test('and a thousand workers that come back at once are taken', async () => {
      expect(await comeBack(UNAUTHENTICATED_LIMITS)).toBe(1_000);
    });

    test('who would not be by a lower bound (the control)', async () => {
      expect(await comeBack({ inAllMax: 256, perAddressMax: 256 })).toBe(256);
    });

    test('for each address and in all, and the silent make room, oldest first, where most of them are', async () => {
      const { come, greet } = await open({ inAllMax: 6, perAddressMax: 4 });
      const [first, second, ...silent] = await come(4, '127.0.0.2');
      const firstEnd = once(first!, 'close');
      const secondEnd = once(second!, 'close');
      const [fifth] = await come(1, '127.0.0.2');
      await firstEnd;
      const others = await come(2, '127.0.0.3');
      expect(second!.closed).toBe(false);
      const [worker] = await come(1, '127.0.0.4');
      await secondEnd;
      expect(await greet(worker!, 'w')).toBe('ok\n');
      expect([...silent, fifth!, ...others].filter((socket) => socket.closed)).toEqual([]);
    });
  });
});
