/** Owns opening the door: a server that listens, on the port that was asked for, or on another one where any will do. */

import { ConfigError } from '@tidemark/core';
import { type ApiOptions, createApi } from './server.ts';

/** Where an embedded folder is served unless something else has the port. */
export const DEFAULT_PORT = 7_070;

export interface Listening {
  /** `http://127.0.0.1:7070`. */
  readonly url: string;
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
  const app = await createApi(options);
  try {
    const url = await app.listen({ host, port }).catch((error: unknown) => {
      if (orAnyPort && isTaken(error)) return app.listen({ host, port: 0 });
      throw error;
    });
    return { url, close: () => app.close() };
  } catch (error) {
    await app.close();
    if (isTaken(error)) {
      throw new ConfigError('port-taken', `Port ${port} of ${host} is taken by another process. Choose another one.`, {
        port,
      });
    }
    const { code } = error as { readonly code?: string };
    if (code === 'EADDRNOTAVAIL' || code === 'EACCES' || code === 'ENOTFOUND') {
      throw new ConfigError('address-unusable', `Nothing can listen at ${host}:${port} (${code}).`, { port });
    }
    throw error;
  }
}

const isTaken = (error: unknown): boolean => (error as { readonly code?: string }).code === 'EADDRINUSE';
