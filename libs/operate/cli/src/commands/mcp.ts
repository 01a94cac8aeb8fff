/**
 * Owns `tidemark mcp`: the MCP server as a process, on standard input and output or over HTTP, with the place of states in a repository,
 * and the API for sessions and memory. On standard input and output nothing but the protocol is printed.
 */

import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { OWN_VERSION } from '@tidemark/api/local';
import { EXIT } from '@tidemark/host/exit-codes';
import type { McpOptions } from '@tidemark/mcp';
import { noState, outlivedReporter } from '../failures.ts';
import { failureOf } from '../place/api-failure.ts';
import { exists } from '../place/folder.ts';
import { openPlace, targetOf } from '../place/place.ts';
import type { McpCommandOptions } from '../program/mcp-options.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { printable } from '../text/width.ts';
import { PATIENCE_MS, SharedPlace } from './mcp-place.ts';
import { folderOf } from './repo-state.ts';

export const mcp = (session: Session, options: McpCommandOptions): Promise<number> =>
  serveMcp(session, options, { input: process.stdin, output: process.stdout });

/** `pipes`: the streams to the client without `http`. */
export async function serveMcp(
  session: Session,
  options: McpCommandOptions,
  pipes: { readonly input: Readable & { readonly isTTY?: boolean }; readonly output: Writable },
): Promise<number> {
  // Apart from the other commands, which would start more slowly with its dependencies.
  const { serveHttp, serveStdio } = await import('@tidemark/mcp');
  const { terminal, env } = session;
  const target = await targetOf(options, session);
  const place = new SharedPlace((signal) => openPlace(session, target, { waitMs: PATIENCE_MS, signal }));
  const interruption = takeInterrupts(session);
  const shared: McpOptions = {
    version: OWN_VERSION,
    ...{ tenant: options.tenant, user: options.user },
    agent: env.TIDEMARK_AGENT || undefined,
    folder: () => folderOf(session, options),
    allowedChecks: options.allowCheck ?? [],
    async withMemory(how, work) {
      if (how === 'read' && target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
      return place
        .use(how, ({ client }) => work(client))
        .catch((error: unknown) => {
          throw failureOf(error);
        });
    },
    onError: outlivedReporter(terminal),
  };
  try {
    if (options.http === undefined) {
      if (pipes.input.isTTY)
        terminal.note('Waits for a client on standard input; an assistant starts it itself. Ctrl-C ends it.');
      await serveStdio({ ...shared, ...pipes, signal: interruption.signal });
      return EXIT.ok;
    }
    const { http: port, host, allowHost: allowedHosts, allowOrigin: allowedOrigins } = options;
    const token = env.TIDEMARK_MCP_TOKEN || undefined;
    const server = await serveHttp({ ...shared, port, host, allowedHosts, allowedOrigins, token });
    terminal.record({ type: 'ready', url: server.url, pid: process.pid, token: token !== undefined });
    terminal.note(
      `${terminal.paintNote('bold', 'tidemark mcp')}  ${printable(server.url)}${token === undefined ? '' : ', with a token'}; Ctrl-C ends it`,
    );
    if (!interruption.signal.aborted) await once(interruption.signal, 'abort');
    await server.close();
    return EXIT.ok;
  } finally {
    await place.close();
    interruption.release();
  }
}
