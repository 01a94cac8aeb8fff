/**
 * Owns a relay to a real HTTP server for tests: it passes requests on unchanged (the Host header too, which signatures cover) and decides
 * the fate of each: it passes, gets another answer, is executed with the answer lost, or waits. A connection whose relay fails is cut off,
 * as by a server that disappears.
 */

import { Agent, createServer, type IncomingMessage, request as passOn, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers one request. `pass` sends it to the server, once, and resolves with what that answers. */
export type Relayed = (
  request: IncomingMessage,
  response: ServerResponse,
  pass: () => Promise<IncomingMessage>,
) => Promise<void>;

export interface HttpRelay {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** `server`: its address; credentials in it are ignored. */
export async function startHttpRelay(server: string, relayed: Relayed): Promise<HttpRelay> {
  const { hostname, port } = new URL(server);
  // One connection per request: none that the server has closed is reused.
  const agent = new Agent({ keepAlive: false });
  const pass = (request: IncomingMessage): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { method, url, rawHeaders } = request;
      const passed = passOn({ hostname, port, method, path: url, headers: rawHeaders, agent }, resolve);
      passed.on('error', reject);
      request.on('error', (error) => passed.destroy(error));
      request.pipe(passed);
    });
  const relay = createServer((request, response) => {
    relayed(request, response, () => pass(request)).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => relay.close(resolve));
      relay.closeAllConnections();
      await closed;
    },
  };
}

/** Passes the server's answer on. `headers`: names and values in turn. */
export function giveOn(answer: IncomingMessage, response: ServerResponse, headers = answer.rawHeaders): void {
  response.writeHead(answer.statusCode!, headers);
  answer.on('error', () => response.destroy()).pipe(response);
}

/** The answer's headers without those whose lower-case name passes the test. */
export function headersWithout(answer: IncomingMessage, drop: (name: string) => boolean): string[] {
  return answer.rawHeaders.filter((_, at, all) => !drop(all[at - (at % 2)]!.toLowerCase()));
}
