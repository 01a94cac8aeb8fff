/** A body, piece by piece: whole again however it was cut, its room given back whatever ends it. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BODY_PIECES_FREE_COUNT, Bodies, type BodyBounds, hasBody } from './json-body.ts';

let server: Server | undefined;
let bodies: Bodies;
let ends: PromiseSettledResult<unknown>[];
beforeEach(() => {
  ends = [];
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Answers what it was sent; resolves to its port. `late`: in so many milliseconds a request must be there. */
async function serve(bounds: BodyBounds = {}, late = 0): Promise<number> {
  bodies = new Bodies(bounds);
  const options = { requestTimeout: late, headersTimeout: late, connectionsCheckingInterval: 20 };
  const own = createServer(options, (request, response) => {
    const body = bodies.open(request, response, 'a');
    body.value(JSON.parse).then(
      (value) => {
        ends.push({ status: 'fulfilled', value });
        response.end(JSON.stringify(value));
      },
      (reason: unknown) => {
        ends.push({ status: 'rejected', reason });
        response.writeHead(400, { connection: 'close' }).end();
      },
    );
  });
  server = own.listen(0, '127.0.0.1');
  await once(own, 'listening');
  return (own.address() as AddressInfo).port;
}

const open = (port: number, ...headers: readonly string[]) => {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.write(['POST / HTTP/1.1', 'Host: a', ...headers, '', ''].join('\r\n'));
  socket.resume();
  return socket;
};

it('is whole again however it was cut, and its room is free', async () => {
  const port = await serve();
  const value = { text: `Ünïcödé ${'€'.repeat(2_000)}`, list: [1.5, -2, 'x"\\', null, true, {}] };
  const bytes = Buffer.from(JSON.stringify(value));
  for (const size of [13, 64, 1_000, bytes.length]) {
    const socket = open(port, 'Transfer-Encoding: chunked', 'Connection: close');
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      socket.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
    }
    socket.write('0\r\n\r\n');
    await once(socket, 'close');
    expect(ends.at(-1)).toEqual({ status: 'fulfilled', value });
    await expect.poll(() => bodies.inHandBytes).toBe(0);
  }
});

it('in pieces of a byte it is refused', async () => {
  const socket = open(await serve(), 'Transfer-Encoding: chunked', 'Connection: close');
  socket.write(`${'1\r\n \r\n'.repeat(BODY_PIECES_FREE_COUNT + 1)}0\r\n\r\n`);
  await once(socket, 'close');
  expect(ends).toMatchObject([{ reason: { code: 'body-pieces-too-small' } }]);
});

describe('its room', () => {
  const begun = async (port: number) => {
    const socket = open(port, 'Content-Length: 100');
    socket.write('[1, ');
    // Its bytes, and two values.
    await expect.poll(() => bodies.inHandBytes).toBe(204);
    return socket;
  };

  it('is given back when its caller leaves', async () => {
    (await begun(await serve())).destroy();
    await expect.poll(() => ends).toMatchObject([{ reason: { code: 'body-incomplete' } }]);
    expect(bodies.inHandBytes).toBe(0);
  });

  it('is given back when it does not come in time', async () => {
    const socket = await begun(await serve({}, 100));
    await once(socket, 'close');
    await expect.poll(() => ends).toMatchObject([{ reason: { code: 'body-incomplete' } }]);
    expect(bodies.inHandBytes).toBe(0);
  });

  it('is given back when it was refused, and what follows takes none', async () => {
    const port = await serve({ bodyMaxBytes: 10 });
    const socket = open(port, 'Transfer-Encoding: chunked');
    socket.write('5\r\n    1\r\nff\r\n');
    socket.write(' '.repeat(255));
    await once(socket, 'close');
    expect(ends).toMatchObject([{ reason: { code: 'body-too-large' } }]);
    expect(bodies.inHandBytes).toBe(0);
  });

  it('is of one address, until it is known who asks', async () => {
    const port = await serve({ inHandMaxBytes: 1_000 });
    const first = open(port, 'Content-Length: 1000');
    first.write(' '.repeat(500));
    await expect.poll(() => bodies.inHandBytes).toBe(500);
    open(port, 'Content-Length: 3').write('[0]');
    await expect.poll(() => ends.length).toBe(1);
    expect(ends).toMatchObject([{ reason: { code: 'bodies-too-many' } }]);
    first.destroy();
  });
});

it.each([
  [{ 'content-length': '0' }, false],
  [{}, false],
  [{ 'content-length': '1' }, true],
  [{ 'transfer-encoding': 'chunked' }, true],
])('follows %j: %s', (headers, is) => {
  expect(hasBody({ headers })).toBe(is);
});
