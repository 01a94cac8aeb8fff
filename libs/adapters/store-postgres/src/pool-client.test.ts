/**
 * Which sessions the pool keeps, against a server that speaks as much of Postgres's protocol as that takes. The same on real servers:
 * test/integration/failovers.test.ts.
 */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { PoolClient } from './pool-client.ts';
import { once } from './sql-client.ts';

/** What a connection meets; `index` counts connections from 0. */
interface Behaviour {
  readonly greeting?: (index: number) => number;
  readonly process?: (index: number) => number;
  readonly standby?: (index: number) => boolean;
  readonly takesWrites?: (index: number) => boolean;
}

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface FakePostgres {
  readonly url: string;
  readonly scripts: string[];
  /** Indices of connections that stand. */
  readonly standing: Set<number>;
}

async function fakePostgres(behaviour: Behaviour): Promise<FakePostgres> {
  const { greeting = (index) => 100 + index, process = greeting, standby, takesWrites } = behaviour;
  const scripts: string[] = [];
  const standing = new Set<number>();
  let count = 0;
  const server = createServer((socket) => {
    const index = count;
    count += 1;
    standing.add(index);
    socket.on('error', () => {}).on('close', () => standing.delete(index));
    const answer = (type: string, text: string): void => {
      if (type === 'Q' && text.includes('pg_backend_pid')) {
        send(socket, rowOf({ process: String(process(index)), read_only: standby?.(index) === true ? 'on' : 'off' }));
      } else if (type === 'Q') {
        scripts.push(text);
        send(socket, message('C', 'SET\0'));
      } else if (type === 'S') {
        const refused = 'SERROR\0C25006\0Mcannot execute INSERT in a read-only transaction\0\0';
        send(socket, takesWrites?.(index) === false ? message('E', refused) : message('C', 'INSERT 0 1\0'));
      }
    };
    read(
      socket,
      () => send(socket, message('R', int(0)), message('K', Buffer.concat([int(greeting(index)), int(1)]))),
      answer,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return { url: `postgres://u@127.0.0.1:${(server.address() as AddressInfo).port}/d`, scripts, standing };
}

function read(socket: Socket, onStart: () => void, onMessage: (type: string, text: string) => void): void {
  let rest = Buffer.alloc(0);
  let hasStarted = false;
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      // The first message has no type.
      const at = hasStarted ? 1 : 0;
      if (rest.length < at + 4 || rest.length < at + rest.readInt32BE(at)) return;
      const end = at + rest.readInt32BE(at);
      if (hasStarted) onMessage(String.fromCharCode(rest[0]!), rest.toString('utf8', 5, end));
      else onStart();
      hasStarted = true;
      rest = rest.subarray(end);
    }
  });
}

const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const short = (value: number): Buffer => int(value).subarray(2);
function message(type: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(type), int(bytes.length + 4), bytes]);
}
function rowOf(row: Readonly<Record<string, string>>): Buffer {
  const names = Object.keys(row).map((key) =>
    Buffer.concat([Buffer.from(`${key}\0`), int(0), short(0), int(25), short(65_535), int(-1), short(0)]),
  );
  const values = Object.values(row).map((text) => Buffer.concat([int(text.length), Buffer.from(text)]));
  const count = short(names.length);
  const described = message('T', Buffer.concat([count, ...names]));
  return Buffer.concat([described, message('D', Buffer.concat([count, ...values])), message('C', 'SELECT 1\0')]);
}
/** Ready for a query afterwards. */
const send = (socket: Socket, ...messages: readonly Buffer[]): boolean =>
  socket.write(Buffer.concat([...messages, message('Z', 'I')]));

function clientOf({ url }: FakePostgres, max = 3): PoolClient {
  const client = new PoolClient({ connectionString: url, max });
  closers.push(() => client.close());
  return client;
}
const write = (client: PoolClient): Promise<unknown> => client.run([once('insert into t values (1)')]);

describe('a failover', () => {
  test('one session that takes no writes takes all of before with it, idle ones included', async () => {
    let hasFailedOver = false;
    const server = await fakePostgres({ takesWrites: (index) => !hasFailedOver || index > 2 });
    const client = clientOf(server);
    await Promise.all([write(client), write(client), write(client)]);
    expect([...server.standing]).toEqual([0, 1, 2]);
    hasFailedOver = true;
    await expect(write(client)).rejects.toMatchObject({ code: '25006' });
    await Promise.all([write(client), write(client), write(client), write(client)]);
    await expect.poll(() => [...server.standing].every((index) => index > 2)).toBe(true);
  });

  test('no session begins on a standby, and nothing is set there', async () => {
    let isStandby = true;
    const server = await fakePostgres({ standby: () => isStandby });
    const client = clientOf(server);
    await expect(write(client)).rejects.toMatchObject({
      code: '25006',
      message: expect.stringContaining('takes no writes'),
    });
    expect(server.scripts).toEqual([]);
    isStandby = false;
    await write(client);
  });
});

describe('a pooler', () => {
  const refused = { name: 'ConfigError', code: 'store-pooled', message: expect.stringContaining('PgBouncer') };
  let turn = 0;

  test.each([
    ['one process serves two connections', () => 7],
    ['processes serve by turns', () => 7 + (turn++ % 3)],
    ['a connection changes its process late', (index: number) => 7 + index + (turn++ > 9 ? 1 : 0)],
  ] as const)('of transactions is refused before anything is set: %s', async (_what, process) => {
    turn = 0;
    const server = await fakePostgres({ greeting: (index) => 9_000 + index, process });
    const client = clientOf(server, 1);
    await expect(write(client)).rejects.toMatchObject(refused);
    expect(server.scripts.filter((script) => script.includes('set '))).toEqual([]);
    await expect.poll(() => server.standing.size).toBe(0);
  });

  test('of sessions is used, and asked once', async () => {
    const server = await fakePostgres({ greeting: (index) => 9_000 + index, process: (index) => 7 + index });
    const client = clientOf(server);
    await write(client);
    expect([...server.standing]).toEqual([0]);
    await Promise.all([write(client), write(client), write(client)]);
    expect([...server.standing]).toEqual([0, 2, 3]);
  });
});
