/**
 * Owns where a local provider is reached: as `fetch` in this process, for thousands of requests, and over HTTP. A request that breaks a rule
 * is refused as the provider refuses it; any other gets the next act of the script, and the last one stays.
 */

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Act, type Broken, errorReply, type Family, type Fields, type Reply, replyOf } from './judge.ts';

const HELLO: Act = { said: { text: 'All is well.' } };

export class Provider {
  readonly family: Family;
  /** Rules that requests broke. */
  readonly broken: Broken[] = [];
  readonly bodies: Fields[] = [];
  #acts: Act[] = [HELLO];

  constructor(family: Family) {
    this.family = family;
  }

  script(...acts: readonly Act[]): void {
    this.#acts = [...acts];
  }

  handle(path: string, text: string): Reply {
    const body = JSON.parse(text) as Fields;
    this.bodies.push(body);
    const broken = this.family.judge(body);
    this.broken.push(...broken);
    if (broken.length > 0)
      return errorReply(this.family.refuse(broken.map(({ rule, at }) => `${rule} at ${at}`).join('; ')));
    const act = this.#acts.length > 1 ? this.#acts.shift()! : this.#acts[0]!;
    return replyOf(this.family, act, this.family.isStreamed(path, body));
  }

  /** The provider as `fetch`, without sockets. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input));
    const { status, headers, frames, isCut = false } = this.handle(url.pathname, String(init?.body));
    let sent = 0;
    // One at a time: a stream that breaks forgets what nobody has read yet.
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const frame = frames[sent++];
        if (frame !== undefined)
          controller.enqueue(typeof frame === 'string' ? new TextEncoder().encode(frame) : frame);
        else if (isCut) controller.error(new TypeError('terminated'));
        else controller.close();
      },
    });
    return new Response(body, { status, headers });
  };
}

export const LOCAL = 'http://provider.invalid/v1';

/** The providers on one port of this machine, each below a path of its own. */
export async function listen(providers: ReadonlyMap<string, Provider>): Promise<Listening> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const provider = providers.get(pathname.split('/')[1] ?? '');
      if (provider === undefined) response.writeHead(404).end();
      else write(provider.handle(pathname, Buffer.concat(chunks).toString()), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (name) => `http://127.0.0.1:${port}/${name}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Listening {
  readonly urlOf: (name: string) => string;
  close(): Promise<void>;
}

function write({ status, headers, frames, isCut = false }: Reply, response: ServerResponse): void {
  response.writeHead(status, headers);
  for (const frame of frames) response.write(frame);
  if (!isCut) response.end();
  else response.write('', () => setImmediate(() => response.destroy()));
}
