/**
 * Owns sending several statements in one round trip over a `pg` connection: parse (once per connection and statement), bind and execute of
 * each, one sync. Up to the sync Postgres treats them as one transaction and skips what follows an error. `pg` has no such call, so this
 * uses the interface of its cursors (`submit` and the handlers).
 */

import type { Row, Rows, Statement, Value } from './sql-client.ts';

/** The part of pg's connection that this file uses. */
interface Wire {
  readonly stream: { cork?(): void; uncork?(): void };
  parse(query: { name: string; text: string }): void;
  bind(config: { statement: string; values: readonly Value[] }): void;
  execute(config: object): void;
  sync(): void;
  on(event: 'parseComplete', listener: () => void): void;
}

/** Statements that a connection knows, and in order of sending those whose parsing it has not confirmed yet. */
interface Known {
  readonly parsed: Set<string>;
  sent: string[];
}

const knownBy = new WeakMap<Wire, Known>();

function knownOf(wire: Wire): Known {
  const known = knownBy.get(wire);
  if (known !== undefined) return known;
  const fresh: Known = { parsed: new Set(), sent: [] };
  knownBy.set(wire, fresh);
  wire.on('parseComplete', () => {
    const name = fresh.sent.shift();
    if (name !== undefined && name !== '') fresh.parsed.add(name);
  });
  return fresh;
}

export class Pipeline {
  readonly #statements: readonly Statement[];
  readonly #results: Row[][] = [];
  #rows: Row[] = [];
  /** pg calls this once. */
  callback: (error: Error | null, results?: readonly Rows[]) => void;

  constructor(statements: readonly Statement[], callback: (error: Error | null, results?: readonly Rows[]) => void) {
    this.#statements = statements;
    this.callback = callback;
  }

  submit(wire: Wire): null {
    const known = knownOf(wire);
    known.sent = [];
    wire.stream.cork?.();
    try {
      for (const { name, text, values } of this.#statements) {
        if (name === '' || !(known.parsed.has(name) || known.sent.includes(name))) {
          wire.parse({ name, text });
          known.sent.push(name);
        }
        wire.bind({ statement: name, values });
        wire.execute({});
      }
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
    return null;
  }

  handleDataRow(message: { readonly fields: Row }): void {
    this.#rows.push(message.fields);
  }

  handleCommandComplete(): void {
    this.#results.push(this.#rows);
    this.#rows = [];
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#results);
  }

  handleRowDescription(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}
