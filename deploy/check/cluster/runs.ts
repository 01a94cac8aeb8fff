/** Owns starting runs over the API, as a caller that tries again does, and asking how they ended. */

const TRIES_MAX = 120;
const PAUSE_MS = 250;
/** An address behind a link that is cut says nothing. */
const ANSWER_MAX_MS = 3_000;
const WAIT_MS = 2_000;

export interface Ended {
  readonly run: string;
  readonly status: string;
  readonly output: { readonly steps: number; readonly sum: number } | undefined;
}

export class Runs {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  async start(definition: string, prefix: string, count: number, ms: number): Promise<readonly string[]> {
    const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    await Promise.all(ids.map((id) => this.ask('POST', '/v1/workflows', { definition, id, input: { ms } })));
    return ids;
  }

  state(id: string): Promise<{ readonly status: string; readonly definition_version: number }> {
    return this.ask('GET', `/v1/workflows/${id}`);
  }

  /** Waits for as long as it is open, and no more than two minutes. */
  async ended(run: string): Promise<Ended> {
    const untilMs = Date.now() + 120_000;
    for (;;) {
      const { status, output } = await this.ask<Ended>('GET', `/v1/workflows/${run}/result?wait_ms=${WAIT_MS}`);
      if (status !== 'open' || Date.now() > untilMs) return { run, status, output };
    }
  }

  async ask<T>(method: string, path: string, body?: object): Promise<T> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#once(method, path, body).catch((error: unknown) => error as Error);
      if (!(answer instanceof Error)) {
        const text = await answer.text().catch(() => '');
        if (answer.ok && text !== '') return JSON.parse(text) as T;
        if (answer.status >= 400 && answer.status < 429)
          throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
      }
      if (tries === TRIES_MAX) throw new Error(`${method} ${path}: no answer`, { cause: answer });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  #once(method: string, path: string, body?: object): Promise<Response> {
    return fetch(this.#url + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#key}` },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MAX_MS + (method === 'GET' ? WAIT_MS : 0)),
    });
  }
}
