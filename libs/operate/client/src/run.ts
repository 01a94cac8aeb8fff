/** Owns a workflow as a caller holds it: by its id, wherever it runs. */

import { TidemarkApiError } from './api-error.ts';
import type { Answer, EventOf, Input } from './endpoints.ts';
import { type FollowOptions, follow } from './follow.ts';
import type { AskOptions, Wire } from './wire.ts';

/** Longest wait of one request for a result, in milliseconds; then the client repeats it. */
const RESULT_WAIT_MS = 15_000;

type One = '/v1/workflows/{workflow}';
type Decision = Input<`POST ${One}/decisions`>['body'];

export interface RunFacts {
  readonly created?: boolean;
  readonly sameInput?: boolean;
}

export class Run {
  readonly id: string;
  /** True when the call that made this handle started the run. */
  readonly created: boolean;
  /** False: the id existed, with another input than the one given now. */
  readonly sameInput: boolean;
  readonly #wire: Wire;

  constructor(wire: Wire, id: string, { created = false, sameInput = true }: RunFacts = {}) {
    this.#wire = wire;
    this.id = id;
    this.created = created;
    this.sameInput = sameInput;
  }

  get #params(): { readonly workflow: string } {
    return { workflow: this.id };
  }

  /** `content: false`: without its content, for polling; the audit does not record it as a read. */
  get({ content = true, ...options }: AskOptions & { readonly content?: boolean } = {}): Promise<Answer<`GET ${One}`>> {
    const query = content ? {} : { content: 'false' as const };
    return this.#wire.ask('GET /v1/workflows/{workflow}', { params: this.#params, query }, options);
  }

  /** Its state and outcome, at once. */
  outcome(options?: AskOptions): Promise<Answer<`GET ${One}/result`>> {
    return this.#wire.ask('GET /v1/workflows/{workflow}/result', { params: this.#params }, options);
  }

  /**
   * Returns the output, once it has ended. A server that answered once may be away for as long as it takes, as after an upgrade: the client
   * asks again until the signal aborts. Throws `TidemarkApiError` (`workflow-failed`, `workflow-compensated`, `workflow-parked`: it waits for
   * a person), and the signal's reason when that aborts first.
   */
  async result<Output = unknown>(options: AskOptions = {}): Promise<Output> {
    const query = { wait_ms: RESULT_WAIT_MS };
    for (let isKnown = false; ; isKnown = true) {
      const asked = { ...options, ...(isKnown && { tries: Number.POSITIVE_INFINITY }) };
      const ended = await this.#wire.ask('GET /v1/workflows/{workflow}/result', { params: this.#params, query }, asked);
      if (ended.status === 'completed') return ended.output as Output;
      if (ended.status !== 'open' && ended.status !== 'compensating') throw notCompleted(ended);
    }
  }

  checkpoints(query: Input<`GET ${One}/checkpoints`>['query'] = {}): Promise<Answer<`GET ${One}/checkpoints`>> {
    return this.#wire.ask('GET /v1/workflows/{workflow}/checkpoints', { params: this.#params, query });
  }

  effects(query: Input<`GET ${One}/effects`>['query'] = {}): Promise<Answer<`GET ${One}/effects`>> {
    return this.#wire.ask('GET /v1/workflows/{workflow}/effects', { params: this.#params, query });
  }

  tasks(query: Input<`GET ${One}/tasks`>['query'] = {}): Promise<Answer<`GET ${One}/tasks`>> {
    return this.#wire.ask('GET /v1/workflows/{workflow}/tasks', { params: this.#params, query });
  }

  notes(query: Input<`GET ${One}/notes`>['query'] = {}): Promise<Answer<`GET ${One}/notes`>> {
    return this.#wire.ask('GET /v1/workflows/{workflow}/notes', { params: this.#params, query });
  }

  /**
   * Yields its accepted events from position `from` on (1 when absent), each once and in order, over as many connections as it takes; ends
   * when the workflow has ended.
   */
  events(options: FollowOptions & { readonly from?: number } = {}): AsyncGenerator<EventOf<`GET ${One}/events`>> {
    const { from = 1, ...how } = options;
    return follow(this.#wire, 'GET /v1/workflows/{workflow}/events', { params: this.#params, query: { from } }, how);
  }

  /**
   * Yields what its streamed model calls say, as it comes, over as many connections as it takes: a `reset` voids what came of the call
   * before, and an `answer` stands for all of it. `from`: an id of an earlier item, after which to continue. Ends when the workflow has.
   */
  stream(
    options: FollowOptions & { readonly from?: string } = {},
  ): AsyncGenerator<EventOf<`GET ${One}/stream`> & { readonly id?: string }> {
    const { from, ...how } = options;
    return follow(this.#wire, 'GET /v1/workflows/{workflow}/stream', { params: this.#params, query: { from } }, how);
  }

  /** Counts once for its key. Without one it gets a random key, so that the client can repeat a lost attempt. */
  signal(
    name: string,
    value?: unknown,
    { key }: { readonly key?: string } = {},
  ): Promise<Answer<`POST ${One}/signals`>> {
    const body = { name, value: value ?? null, key: key ?? crypto.randomUUID() };
    return this.#wire.ask('POST /v1/workflows/{workflow}/signals', { params: this.#params, body }, REPEATABLE);
  }

  /** An answer that names its question is retried. Another isn't: a next question may be open by then, which it would answer. */
  decide(decision: Decision): Promise<Answer<`POST ${One}/decisions`>> {
    return this.#wire.ask(
      'POST /v1/workflows/{workflow}/decisions',
      { params: this.#params, body: decision },
      { isRepeatable: decision.question !== undefined },
    );
  }

  confirm(
    token: string,
    said: { readonly response: unknown } | { readonly error: string },
  ): Promise<Answer<`POST ${One}/confirmations`>> {
    const body = 'error' in said ? { token, error: said.error } : { token, response: said.response };
    return this.#wire.ask('POST /v1/workflows/{workflow}/confirmations', { params: this.#params, body }, REPEATABLE);
  }

  pin(pinned: boolean, why: string): Promise<Answer<`POST ${One}/pin`>> {
    const body = { pinned, why };
    return this.#wire.ask('POST /v1/workflows/{workflow}/pin', { params: this.#params, body }, REPEATABLE);
  }

  /** No further task starts; completed effects are compensated where a compensation is registered. A second request changes nothing. */
  cancel(why: string): Promise<Answer<`POST ${One}/cancel`>> {
    return this.#wire.ask('POST /v1/workflows/{workflow}/cancel', { params: this.#params, body: { why } }, REPEATABLE);
  }

  /** Ends it at once, without compensation. */
  terminate(why: string): Promise<Answer<`POST ${One}/terminate`>> {
    return this.#wire.ask(
      'POST /v1/workflows/{workflow}/terminate',
      { params: this.#params, body: { why } },
      REPEATABLE,
    );
  }

  pause(why: string): Promise<Answer<`POST ${One}/pause`>> {
    return this.#wire.ask('POST /v1/workflows/{workflow}/pause', { params: this.#params, body: { why } }, REPEATABLE);
  }

  resume(why: string): Promise<Answer<`POST ${One}/resume`>> {
    return this.#wire.ask('POST /v1/workflows/{workflow}/resume', { params: this.#params, body: { why } }, REPEATABLE);
  }

  /** Its state right after a checkpoint; 0 is its opening. */
  at(sequence: number): Promise<Answer<`GET ${One}/at/{sequence}`>> {
    return this.#wire.ask('GET /v1/workflows/{workflow}/at/{sequence}', { params: { ...this.#params, sequence } });
  }

  /** Starts a new workflow from a checkpoint. */
  async fork(request: Input<`POST ${One}/forks`>['body']): Promise<Run> {
    const body = { ...request, id: request.id ?? crypto.randomUUID() };
    const forked = await this.#wire.ask(
      'POST /v1/workflows/{workflow}/forks',
      { params: this.#params, body },
      REPEATABLE,
    );
    return new Run(this.#wire, forked.workflow, { created: forked.created });
  }

  async revoke(): Promise<Answer<`POST ${One}/revocations`>['lease']> {
    const { lease } = await this.#wire.ask('POST /v1/workflows/{workflow}/revocations', { params: this.#params });
    return lease;
  }
}

const REPEATABLE = { isRepeatable: true } as const;

function notCompleted({ workflow, status, reason, error }: Answer<`GET ${One}/result`>): TidemarkApiError {
  const why = error?.message ?? reason ?? 'without further details';
  const words =
    status === 'parked'
      ? `waits for a person (${why})`
      : status === 'failed'
        ? `failed (${why})`
        : `was compensated (${why})`;
  return new TidemarkApiError({ status: 200, code: `workflow-${status}`, detail: `Workflow ${workflow} ${words}.` });
}
