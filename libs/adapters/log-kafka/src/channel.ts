/**
 * Owns one connection to one broker for one use, opened when first needed and again after it was lost. A request that is not answered in
 * time ends the connection, so that its answer can never be taken for another's. Must not retry: the caller decides. Every use (appends,
 * resends, reads, metadata) has its own channel, so that none waits behind another.
 */

import {
  AuthenticationError,
  Connection,
  type ConnectionOptions,
  ConnectionStatuses,
  type Reader,
  Writer,
} from '@platformatic/kafka';
import { ConfigError, UnavailableError } from '@tidemark/core';
import { type Address, showAddress } from './address.ts';
import type { Api } from './wire.ts';

/** Names a process in the brokers' logs and quotas. */
export const CLIENT_ID = 'tidemark';

export interface ChannelOptions {
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly reconnectMs: number;
  /** Most requests that wait for their answers at once. */
  readonly inFlightMax: number;
  readonly security: Pick<ConnectionOptions, 'tls' | 'sasl' | 'tlsServerName'>;
}

/** Returns the answer as one buffer; without a copy where it arrived in one piece. */
const wholeAnswer = (_correlation: number, _key: number, _version: number, reader: Reader): Buffer =>
  reader.buffer.slice(reader.position, reader.length);

function payload(parts: readonly Buffer[]): Writer {
  const writer = Writer.create();
  for (const part of parts) writer.append(part);
  return writer;
}

export class Channel {
  readonly address: Address;
  readonly #options: ChannelOptions;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #refusal: unknown;
  #closed = false;

  constructor(address: Address, options: ChannelOptions) {
    this.address = address;
    this.#options = options;
  }

  /** Throws `UnavailableError`, `details.sent` being false when the request certainly never left; or `ConfigError`. */
  async request(api: Api, parts: readonly Buffer[]): Promise<Buffer> {
    const ready = this.#connection;
    const connection = ready?.isConnected() ? ready : await this.#connect();
    return new Promise<Buffer>((resolve, reject) => {
      const onAnswer = (error: Error | null, answer?: Buffer | undefined): void => {
        if (error) reject(this.#unavailable(error, true));
        else resolve(answer!);
      };
      connection.send<Buffer>(api.key, api.version, () => payload(parts), wholeAnswer, false, false, onAnswer);
    });
  }

  /** Ends the connection; requests under way fail. */
  close(): void {
    this.#closed = true;
    this.#connection?.socket?.destroy();
    this.#connection = undefined;
  }

  #connect(): Promise<Connection> {
    if (this.#closed) return Promise.reject(this.#unavailable(new Error('closed'), false));
    // Requests right after a refusal fail at once, and do not connect again and again.
    if (performance.now() - this.#refusedAtMs < this.#options.reconnectMs) {
      return Promise.reject(this.#refused(this.#refusal));
    }
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<Connection> {
    const current = this.#connection;
    try {
      // A connection that authenticates again (KIP-368) is back in a moment.
      if (current?.status === ConnectionStatuses.REAUTHENTICATING) {
        await current.ready();
        return current;
      }
      const connection = this.#newConnection();
      await connection.connect(this.address.host, this.address.port);
      if (this.#closed) {
        connection.socket.destroy();
        throw new Error('closed');
      }
      this.#connection = connection;
      return connection;
    } catch (error) {
      this.#refusedAtMs = performance.now();
      this.#refusal = error;
      throw this.#refused(error);
    }
  }

  #newConnection(): Connection {
    const { connectTimeoutMs, requestTimeoutMs, inFlightMax, security } = this.#options;
    const connection = new Connection(CLIENT_ID, {
      connectTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      maxInflights: inFlightMax,
      ...security,
    });
    // Callers that wait for an answer receive the error; without a listener it would end the process.
    connection.on('error', () => {});
    return connection;
  }

  /** Waiting does not mend wrong credentials. */
  #refused(cause: unknown): ConfigError | UnavailableError {
    const refusal = authenticationError(cause);
    if (refusal === undefined) return this.#unavailable(cause, false);
    const address = showAddress(this.address);
    const message = `Kafka at ${address} does not accept the credentials: ${refusal.message}`;
    return new ConfigError('log-unauthorized', message, { address, cause });
  }

  #unavailable(cause: unknown, sent: boolean): UnavailableError {
    const address = showAddress(this.address);
    const why = rootMessage(cause);
    return new UnavailableError('log-unavailable', `Kafka at ${address} does not answer: ${why}`, {
      address,
      sent,
      cause,
    });
  }
}

function authenticationError(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  return (error as { code?: unknown }).code === AuthenticationError.code ? error : authenticationError(error.cause);
}

/**
 * The innermost message, which names the reason (`connect ECONNREFUSED …`). A broker gives none to who doesn't prove itself as it demands, and closes
 * the connection.
 */
export function rootMessage(error: unknown): string {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  const message = current instanceof Error ? current.message || current.name : String(current);
  const mayDemand = 'so does a broker that restarts, that demands TLS or SASL, or for which a token has expired';
  return /^(closed connection|connection closed)$/i.test(message) ? `${message}: ${mayDemand}` : message;
}
