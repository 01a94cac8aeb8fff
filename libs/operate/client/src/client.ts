/** Owns what a program does with workflows through the HTTP API: start, find, follow and steer them. Runs in browsers as well. */

import type { Answer, Endpoint, EventOf, Input } from './endpoints.ts';
import { type FollowOptions, follow } from './follow.ts';
import { Run } from './run.ts';
import { type AskOptions, Wire, type WireOptions } from './wire.ts';

export type ConnectOptions = WireOptions;

export type StartOptions = Omit<NonNullable<Input<'POST /v1/workflows'>['body']>, 'definition' | 'input'> & {
  /** The caller's W3C `traceparent`, to which the run's trace links. */
  readonly traceparent?: string | undefined;
};

/** Nothing is asked before the first call. */
export const connect = (options: ConnectOptions): Client => new Client(options);

export class Client {
  readonly #wire: Wire;

  constructor(options: ConnectOptions) {
    this.#wire = new Wire(options);
  }

  /** Any endpoint by its method and path. Throws `TidemarkApiError`. */
  ask<E extends Endpoint>(endpoint: E, input: Input<E>, options?: AskOptions): Promise<Answer<E>> {
    return this.#wire.ask(endpoint, input, options);
  }

  /** Starts a workflow, or answers the run that has this id. Without an id it gets one here, so that a lost try can be made again. */
  async start(definition: string, input: unknown, options: StartOptions = {}): Promise<Run> {
    const { traceparent, ...how } = options;
    const body = { ...how, definition, input, id: how.id ?? crypto.randomUUID() };
    const headers = traceparent === undefined ? undefined : { traceparent };
    const started = await this.#wire.ask('POST /v1/workflows', { body }, { isRepeatable: true, headers });
    return new Run(this.#wire, started.workflow, { created: started.created, sameInput: started.same_input });
  }

  /** A run by its id; whether it exists shows when it is asked. */
  run(id: string): Run {
    return new Run(this.#wire, id);
  }

  /** What lists show, as it changes; read the list first, and again when `onLost` tells of a lost connection. */
  changes(options: FollowOptions & { readonly tenant?: string } = {}): AsyncGenerator<EventOf<'GET /v1/events'>> {
    const { tenant, ...how } = options;
    return follow(this.#wire, 'GET /v1/events', { query: { tenant } }, how);
  }

  /** One page. */
  list(query: Input<'GET /v1/workflows'>['query'] = {}): Promise<Answer<'GET /v1/workflows'>> {
    return this.#wire.ask('GET /v1/workflows', { query });
  }

  /** All that fit, newest first, page by page as they are read. */
  async *all(
    query: Input<'GET /v1/workflows'>['query'] = {},
  ): AsyncGenerator<Answer<'GET /v1/workflows'>['workflows'][number]> {
    let cursor: string | null = null;
    do {
      const page: Answer<'GET /v1/workflows'> = await this.list({ ...query, ...(cursor !== null && { cursor }) });
      yield* page.workflows;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
}
