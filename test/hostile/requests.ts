/** Owns hostile requests: their bytes, as they go onto the wire, and in how many pieces. Each follows from a generator of random numbers. */

import type { SeededRandom } from '@tidemark/testkit/simulation/random';
import { JSON_KINDS } from './json-inputs.ts';

export interface HostileRequest {
  readonly kind: string;
  /** Written one after the other. */
  readonly pieces: readonly (Buffer | string)[];
  /** The rest never comes: the answer, or the end of the connection, does all the same. */
  readonly isCut?: boolean;
}

/** Whom requests are sent as. */
export interface Credentials {
  readonly viewer: string;
  readonly operator: string;
}

/** Routes that take a body, with one that is right; `{w}` is a workflow of the attacker's. */
const ACTS: readonly (readonly [method: string, path: string, body: string])[] = [
  ['POST', '/v1/workflows', '{"definition":"greet","input":{"name":"x"}}'],
  ['POST', '/v1/workflows', '{"definition":"listen","input":{"name":"x"}}'],
  ['POST', '/v1/workflows/{w}/signals', '{"name":"go","value":{"n":1}}'],
  ['POST', '/v1/workflows/{w}/forks', '{"at":0,"effects":"replay","belief":{"heard":1}}'],
  ['POST', '/v1/workflows/{w}/decisions', '{"resolution":"done","why":"so","response":{"a":1}}'],
  ['POST', '/v1/workflows/{w}/approvals/0.0', '{"approved":true,"value":{"a":1}}'],
  ['POST', '/v1/workflows/{w}/confirmations', '{"token":"t","response":{"a":1}}'],
  ['POST', '/v1/workflows/{w}/pin', '{"pinned":true,"why":"so"}'],
  ['POST', '/v1/jobs/count', '{"filter":{"status":"open","tags":["a"]}}'],
  [
    'POST',
    '/v1/jobs',
    '{"act":"signal","filter":{"status":"parked"},"why":"so","signal":{"name":"go","value":{"a":1}}}',
  ],
  ['POST', '/v1/keys', '{"name":"n","roles":["viewer"]}'],
  ['PUT', '/v1/schedules/s1', '{"definition":"greet","cron":"0 9 * * 1","input":{"name":"x"}}'],
  ['POST', '/v1/sessions/s/handovers', '{"to":"b","message":"m","artifacts":["a"]}'],
  ['POST', '/nothing', '{"a":1}'],
  ['PUT', '/v1', '{"a":1}'],
];

const LOOKS = [
  '/v1/workflows',
  '/v1/workflows/{w}',
  '/v1/workflows/{w}/timeline',
  '/v1/approvals',
  '/v1/queues',
  '/v1/fleet',
  '/v1/me',
];

/** What shows content, as much of it as may be asked for. */
const READS = [
  '/v1/workflows/{w}',
  '/v1/workflows/{w}',
  '/v1/workflows/{w}/result',
  '/v1/workflows/{w}/at/1',
  '/v1/workflows/{w}/checkpoints?limit=500',
  '/v1/workflows/{w}/effects?limit=500',
  '/v1/workflows/{w}/notes?limit=500',
  '/v1/workflows/{w}/trace?content=true',
  '/v1/workflows/{w}/comparison/{w}',
];

const TEXTS = [
  '%00',
  '%',
  '%zz',
  '%ff%fe',
  '..%2f..%2f',
  '%F0%9F%98',
  "'--",
  '1e999',
  '99999999999999999999',
  '-1',
  '[]',
  '{}',
  '\u00e9',
  ' ',
  '%0d%0aX: 1',
];

const head = (method: string, path: string, headers: readonly string[]): string =>
  `${[`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers].join('\r\n')}\r\n\r\n`;

/** Nobody's, a wrong one, one that may only read, and one that may act. */
function authorization(random: SeededRandom, { viewer, operator }: Credentials): readonly string[] {
  const key = random.pick([undefined, `tmk_${'a'.repeat(16)}_${'b'.repeat(52)}`, viewer, operator, operator]);
  return key === undefined ? [] : [`Authorization: Bearer ${key}`];
}

type Make = (random: SeededRandom, credentials: Credentials, workflow: string) => Omit<HostileRequest, 'kind'>;

function bodied(make: (random: SeededRandom, valid: string) => string | Buffer): Make {
  return (random, credentials, workflow) => {
    const [method, path, valid] = random.pick(ACTS);
    const body = Buffer.from(make(random, valid));
    const headers = [...authorization(random, credentials), 'Content-Type: application/json'];
    const at = path.replace('{w}', workflow);
    if (random.chance(0.7)) return { pieces: [head(method, at, [...headers, `Content-Length: ${body.length}`]), body] };
    const chunkBytes = random.pick([1, 7, 1_000, 65_536]);
    const chunks: Buffer[] = [];
    // Of one-byte chunks, as many as would be a megabyte on the wire.
    const most = chunkBytes < 100 ? Math.min(body.length, 160_000) : body.length;
    for (let from = 0; from < most; from += chunkBytes) {
      const part = body.subarray(from, Math.min(from + chunkBytes, most));
      chunks.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
    }
    chunks.push(Buffer.from('0\r\n\r\n'));
    return { pieces: [head(method, at, [...headers, 'Transfer-Encoding: chunked']), Buffer.concat(chunks)] };
  };
}

/** At the wire: what is no request, or two at once. */
const WIRE_KINDS: Readonly<Record<string, Make>> = {
  'an odd path': (random, credentials, workflow) => {
    const path = `${random.pick(LOOKS).replace('{w}', random.pick([workflow, random.pick(TEXTS)]))}/${random.pick(TEXTS)}`;
    return {
      pieces: [
        head(
          random.pick(['GET', 'POST', 'DELETE', 'OPTIONS', 'HEAD']),
          path.replaceAll(' ', '%20'),
          authorization(random, credentials),
        ),
      ],
    };
  },
  'an odd query': (random, credentials, workflow) => {
    const names = ['limit', 'cursor', 'status', 'text', 'tag', 'opened_from', 'x'];
    const query = Array.from({ length: random.count(1, 5) }, () => `${random.pick(names)}=${random.pick(TEXTS)}`).join(
      '&',
    );
    const path = `${random.pick(LOOKS).replace('{w}', workflow)}?${query}`.replaceAll(' ', '%20');
    return { pieces: [head('GET', path, authorization(random, credentials))] };
  },
  'a read of large content': (random, { viewer, operator }, workflow) => ({
    pieces: [
      head('GET', random.pick(READS).replaceAll('{w}', workflow), [
        `Authorization: Bearer ${random.pick([viewer, operator])}`,
      ]),
    ],
  }),
  'two hosts': (random, credentials) => ({
    pieces: [head('GET', '/v1/me', ['Host: other', ...authorization(random, credentials)])],
  }),
  'two lengths': () => ({
    pieces: [head('POST', '/v1/workflows', ['Content-Length: 5', 'Content-Length: 6']), 'aaaaa'],
  }),
  'a length and chunks': () => ({
    pieces: [head('POST', '/v1/workflows', ['Content-Length: 5', 'Transfer-Encoding: chunked']), '0\r\n\r\n'],
  }),
  'an odd length': (random) => ({
    pieces: [
      head('POST', '/v1/workflows', [
        `Content-Length: ${random.pick(['-1', '1e9', '0x10', '99999999999999999999', ' '])}`,
      ]),
    ],
  }),
  'an odd chunk': (random) => ({
    pieces: [
      head('POST', '/v1/workflows', ['Transfer-Encoding: chunked', 'Content-Type: application/json']),
      random.pick(['zz\r\n', '-1\r\n', 'fffffffffffffffff\r\n', '5;x=y\r\nab', '\r\n']),
    ],
    isCut: true,
  }),
  'large headers': (random) => ({
    pieces: [head('GET', '/v1/me', [`X-A: ${'a'.repeat(random.count(10_000, 40_000))}`])],
  }),
  'many headers': (random) => ({
    pieces: [
      head(
        'GET',
        '/v1/me',
        Array.from({ length: random.count(100, 3_000) }, (_, at) => `X-${at}: 1`),
      ),
    ],
  }),
  'no request': (random) => ({
    pieces: [Buffer.from(Array.from({ length: random.count(4, 400) }, () => random.int(256)))],
    isCut: true,
  }),
  'a line that is none': (random) => ({
    pieces: [
      random.pick([
        'GET\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
        'get /v1/me HTTP/1.1\r\n\r\n',
        'GET  /v1/me  HTTP/1.1\r\n\r\n',
        'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      ]),
    ],
    isCut: true,
  }),
  'another type of body': (random, credentials) => ({
    pieces: [
      head('POST', '/v1/workflows', [
        ...authorization(random, credentials),
        `Content-Type: ${random.pick(['text/xml', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16', 'a'])}`,
        'Content-Length: 2',
      ]),
      '{}',
    ],
  }),
  'a body that ends early': (random, { operator }) => ({
    pieces: [
      head('POST', '/v1/workflows', [
        `Authorization: Bearer ${operator}`,
        'Content-Type: application/json',
        'Content-Length: 4000000',
      ]),
      Buffer.alloc(random.count(1, 200_000), 0x20),
    ],
    isCut: true,
  }),
};

const KINDS: readonly (readonly [string, Make])[] = [
  ...Object.entries(JSON_KINDS).map(([kind, make]) => [`json: ${kind}`, bodied(make)] as const),
  ...Object.entries(WIRE_KINDS).map(([kind, make]) => [`wire: ${kind}`, make] as const),
];

export function hostileRequest(random: SeededRandom, credentials: Credentials, workflow: string): HostileRequest {
  const [kind, make] = random.pick(KINDS);
  return { kind, ...make(random, credentials, workflow) };
}

/** Of the same size as most hostile ones, and right. */
export function validRequest(random: SeededRandom, { operator }: Credentials, workflow: string): HostileRequest {
  const key = `Authorization: Bearer ${operator}`;
  if (random.chance(0.5))
    return { kind: 'valid', pieces: [head('GET', `/v1/workflows/${workflow}?content=false`, [key])] };
  const body = '{"filter":{"status":"parked"}}';
  return {
    kind: 'valid',
    pieces: [
      head('POST', '/v1/jobs/count', [key, 'Content-Type: application/json', `Content-Length: ${body.length}`]),
      body,
    ],
  };
}
