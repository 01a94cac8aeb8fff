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

/** Sends nothing before the first call. */
export const connect = (options: ConnectOptions): Client => new Client(options);

export class Client {
  readonly #wire: Wire;

  constructor(options: ConnectOptions) {
    this.#wire = new Wire(options);
  }

  /** Calls any endpoint by its method and path. Throws `TidemarkApiError`. */
  ask<E extends Endpoint>(endpoint: E, input: Input<E>, options?: AskOptions): Promise<Answer<E>> {
    return this.#wire.ask(endpoint, input, options);
  }

  /** Starts a workflow, or returns the run that has this id. Without an id the client draws one, so that it can repeat a lost attempt. */
  async start(definition: string, input: unknown, options: StartOptions = {}): Promise<Run> {
    const { traceparent, ...how } = options;
    const body = { ...how, definition, input, id: how.id ?? crypto.randomUUID() };
    const headers = traceparent === undefined ? undefined : { traceparent };
    const started = await this.#wire.ask('POST /v1/workflows', { body }, { isRepeatable: true, headers });
    return new Run(this.#wire, started.workflow, { created: started.created, sameInput: started.same_input });
  }

  /** A handle of a run by its id; only a request shows whether it exists. */
  run(id: string): Run {
    return new Run(this.#wire, id);
  }

  /** Follows what lists show, as it changes. Read the list first, and again when `onLost` reports a lost connection. */
  changes(options: FollowOptions & { readonly tenant?: string } = {}): AsyncGenerator<EventOf<'GET /v1/events'>> {
    const { tenant, ...how } = options;
    return follow(this.#wire, 'GET /v1/events', { query: { tenant } }, how);
  }

  /** Reads one page. */
  list(query: Input<'GET /v1/workflows'>['query'] = {}): Promise<Answer<'GET /v1/workflows'>> {
    return this.#wire.ask('GET /v1/workflows', { query });
  }

  /** Yields all that fit, newest first, and reads page by page. */
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
