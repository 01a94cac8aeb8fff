/**
 * Owns opening the server's port: it listens on the requested port, at every address of its name. It does not skip a taken port: callers
 * would show their keys to the process that has it. Only where no keys are shown (`tidemark dev`) any other port will do.
 */

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ConfigError } from '@tidemark/core';
import type { FastifyInstance } from 'fastify';
import { type ApiOptions, createApi } from './server.ts';

/** Default port of an embedded folder. */
export const DEFAULT_PORT = 7_070;

export interface Listening {
  /** `http://127.0.0.1:7070`. */
  readonly url: string;
  /** The requested port is taken, so it listens on another. */
  readonly isElsewhere: boolean;
  close(): Promise<void>;
}

export interface ListenOptions extends ApiOptions {
  readonly host: string;
  readonly port: number;
  /** Where the port is taken, any other will do. */
  readonly orAnyPort?: boolean | undefined;
}

/** Throws `ConfigError` (`port-taken`, `address-unusable`). */
export async function listenApi({ host, port, orAnyPort = false, ...options }: ListenOptions): Promise<Listening> {
  try {
    return await listenAt({ host, port }, options);
  } catch (error) {
    if (isTaken(error)) {
      if (orAnyPort) return { ...(await listenAt({ host, port: 0 }, options)), isElsewhere: true };
      const message = `Port ${port} of ${host} is taken by another process. End it, or choose another one.`;
      throw new ConfigError('port-taken', message, { port });
    }
    const { code } = error as { readonly code?: string };
    if (code === 'EADDRNOTAVAIL' || code === 'EACCES' || code === 'ENOTFOUND') {
      throw new ConfigError('address-unusable', `Nothing can listen at ${host}:${port} (${code}).`, { port });
    }
    throw error;
  }
}

/** Serves callers who can open the socket. Resolves once it listens; the caller sets the file's mode, and removes it. */
export const listenSocket = ({ path, ...options }: ApiOptions & { readonly path: string }): Promise<Listening> =>
  listenAt({ path }, options);

async function listenAt(
  where: { readonly path: string } | { readonly host: string; readonly port: number },
  options: ApiOptions,
): Promise<Listening> {
  const app = await createApi(options);
  try {
    const url = await app.listen(where);
    if ('host' in where && where.host === 'localhost') await requireLocalhost(app);
    return { url, isElsewhere: false, close: () => app.close() };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** The loopback host, by any of its names. */
const LOCALHOST = ['127.0.0.1', '::1'];

/**
 * Fastify listens at each address of this name, and does not report those that it doesn't get. Throws where one is taken (`EADDRINUSE`); a
 * machine may lack one.
 */
async function requireLocalhost(app: FastifyInstance): Promise<void> {
  const own = app.addresses() as AddressInfo[];
  for (const host of LOCALHOST) {
    if (own.some(({ address }) => address === host)) continue;
    const probe = createServer().listen({ host, port: own[0]!.port });
    await once(probe, 'listening').catch((error: unknown) => {
      if (isTaken(error)) throw error;
    });
    probe.close();
  }
}

const isTaken = (error: unknown): boolean => (error as { readonly code?: string }).code === 'EADDRINUSE';
