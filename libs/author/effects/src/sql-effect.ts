/**
 * Owns the effect that is a change in the user's Postgres, exactly once: the key is written in the transaction of the
 * change. Invariants: nothing commits after the effect's time-out, counted from the transaction's beginning; an error before
 * the commit is sent means that nothing happened.
 */

import { createHash } from 'node:crypto';
import { canonicalJson, toJson } from '@tidemark/codec';
import {
  defineEffect,
  done,
  type Effect,
  type EffectContext,
  type EffectSpec,
  FatalError,
  type Given,
  InvalidError,
  type Json,
  NotDoneError,
  notDone,
  type Parsed,
  type ProbeResult,
  type Schema,
  UnavailableError,
  unknown,
} from '@tidemark/sdk';
import { beginWithin, commitWithin, EffectRows, type RecordedEffect } from './effect-rows.ts';
import { question } from './question.ts';
import {
  reasonOf,
  type SqlConnection,
  type SqlPool,
  type SqlTransaction,
  sqlStateOf,
  withConnection,
} from './sql-session.ts';

/** A user's change in Postgres. */
export interface SqlEffectSpec<Request extends Schema, Response extends Schema>
  extends Pick<EffectSpec<Request, Response>, 'operation' | 'request' | 'response' | 'key' | 'retry' | 'timeoutMs'> {
  /** The pool of the database to change; called for each call, so the pool may be created late. */
  readonly pool: () => SqlPool;
  /** The change. Its result is recorded with it; its error rolls it back. It must not end the transaction. */
  readonly run: (
    tx: SqlTransaction,
    request: Parsed<NoInfer<Request>>,
  ) => Given<NoInfer<Response>> | Promise<Given<NoInfer<Response>>>;
  /** Reverses the change, exactly once as well. */
  readonly undo?: ((tx: SqlTransaction, response: Parsed<NoInfer<Response>>) => unknown) | undefined;
  /** Schema of the table `tidemark_effects`; default `public`. The table is created when it is missing. */
  readonly schema?: string | undefined;
}

/** Defines it; its kind is `idempotent`, since a key's second call changes nothing. Throws what `defineEffect` throws. */
export function sqlEffect<Request extends Schema, Response extends Schema>(
  spec: SqlEffectSpec<Request, Response>,
): Effect<Request, Response> {
  const { operation, run, undo } = spec;
  const once = new Once(operation, spec.pool, new EffectRows(spec.schema ?? 'public'));
  const effect: Effect<Request, Response> = defineEffect<Request, Response>({
    operation,
    kind: 'idempotent',
    request: spec.request,
    response: spec.response,
    key: spec.key,
    retry: spec.retry,
    timeoutMs: spec.timeoutMs,
    call: async (request, context) => {
      const change = async (tx: SqlTransaction): Promise<Json> => {
        const response = toJson((await run(tx, request)) ?? null, `response of effect ${operation}`);
        // Refused before the commit: a later refusal can't undo the change.
        effect.parseResponse(response);
        return response;
      };
      return (await once.apply(context.key, request, change, context.signal, effect.timeoutMs)) as Given<
        NoInfer<Response>
      >;
    },
    probe: async (key, { signal }) =>
      (await question(() => once.probe(key, signal, effect.timeoutMs))) as ProbeResult<Given<NoInfer<Response>>>,
    ...(undo && {
      compensate: async (response: Parsed<Response>, { key, signal }: EffectContext) => {
        const change = async (tx: SqlTransaction): Promise<Json> => {
          await undo(tx, response);
          return null;
        };
        // A key of its own, whatever key the compensation has: the change's key is taken.
        await once.apply(`${key} undo`, response, change, signal, effect.timeoutMs);
      },
    }),
  });
  return effect;
}

/** Transactions that write their key. */
class Once {
  readonly #operation: string;
  readonly #pool: () => SqlPool;
  readonly #rows: EffectRows;

  constructor(operation: string, pool: () => SqlPool, rows: EffectRows) {
    this.#operation = operation;
    this.#pool = pool;
    this.#rows = rows;
  }

  /** Makes the change, or returns the recorded result. */
  apply(
    key: string,
    request: unknown,
    change: (tx: SqlTransaction) => Promise<Json>,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<Json> {
    return withConnection(this.#operation, this.#pool(), signal, async (connection) => {
      const digest = digestOf(request);
      const response = await this.#certain(async () => {
        const recorded = await this.#claim(connection, key, digest, timeoutMs);
        if (recorded !== undefined) return { isNew: false, value: this.#answer(key, digest, recorded) };
        return { isNew: true, value: await this.#change(connection, key, change, signal) };
      });
      if (response.isNew) await this.#commit(connection, timeoutMs);
      else await connection.query('rollback');
      return response.value;
    });
  }

  /** Takes the key as a call would, and releases it, which waits for a call under way. It can't know of a call that begins later. */
  probe(key: string, signal: AbortSignal, timeoutMs: number): Promise<ProbeResult<Json>> {
    return withConnection(this.#operation, this.#pool(), signal, async (connection) => {
      try {
        await connection.query(beginWithin(timeoutMs));
        if (await this.#rows.insert(connection, key, this.#operation, '')) return notDone();
        const recorded = await this.#rows.find(connection, key);
        return recorded === undefined ? unknown() : done(this.#response(key, recorded));
      } catch (error) {
        const state = sqlStateOf(error);
        if (state === NO_TABLE) return notDone();
        // The call under way takes as long as a call may.
        if (state === CANCELED) return unknown();
        throw error;
      } finally {
        await connection.query('rollback').catch(() => undefined);
      }
    });
  }

  /** Begins. Undefined: the key is this transaction's; else another call's record for it. */
  async #claim(
    connection: SqlConnection,
    key: string,
    digest: string,
    timeoutMs: number,
  ): Promise<RecordedEffect | undefined> {
    const claim = async (): Promise<RecordedEffect | undefined> => {
      await connection.query(beginWithin(timeoutMs));
      if (await this.#rows.insert(connection, key, this.#operation, digest)) return undefined;
      const recorded = await this.#rows.find(connection, key);
      if (recorded === undefined) throw new Error('the row of the key was deleted at this moment');
      return recorded;
    };
    try {
      return await claim();
    } catch (error) {
      if (sqlStateOf(error) !== NO_TABLE) throw error;
      await connection.query('rollback');
      await this.#rows.createTable(connection);
      return await claim();
    }
  }

  async #change(
    connection: SqlConnection,
    key: string,
    change: (tx: SqlTransaction) => Promise<Json>,
    signal: AbortSignal,
  ): Promise<Json> {
    let ended = false;
    const tx: SqlTransaction = {
      query: async (text, values) => {
        if (ended) throw new InvalidError('sql-transaction-over', `${this.#operation}: its transaction has ended.`);
        return connection.query(text, values);
      },
    };
    const response = await change(tx).finally(() => {
      ended = true;
    });
    if (!(await this.#rows.putResponse(connection, key, JSON.stringify(response)))) {
      throw new FatalError(
        `${this.#operation}: run ended the transaction, so its change may be committed without its key. Do not begin, commit or roll back in run.`,
        { operation: this.#operation, key },
      );
    }
    if (signal.aborted) throw new NotDoneError(`${this.#operation}: aborted before it was committed.`);
    return response;
  }

  /** The only place where an error leaves the outcome open. */
  async #commit(connection: SqlConnection, timeoutMs: number): Promise<void> {
    try {
      await connection.query(commitWithin(timeoutMs));
    } catch (error) {
      // An answer of the server, other than its farewell, ends a transaction that was rolled back.
      const { severity } = error as { severity?: unknown };
      if (severity === 'ERROR') throw this.#nothing(error);
      throw new UnavailableError(
        'sql-commit-unknown',
        `${this.#operation}: the connection ended during the commit (${reasonOf(error)}). The key shows whether it was done.`,
        { operation: this.#operation, cause: error },
      );
    }
  }

  /** Before the commit is sent, a failure leaves nothing behind. */
  async #certain<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NotDoneError || error instanceof FatalError || error instanceof InvalidError) throw error;
      throw this.#nothing(error);
    }
  }

  #nothing(error: unknown): NotDoneError {
    const state = sqlStateOf(error);
    return new NotDoneError(`${this.#operation}: rolled back: ${reasonOf(error)}${state && ` (${state})`}`, {
      operation: this.#operation,
      ...(state !== '' && { state }),
      cause: error,
    });
  }

  #answer(key: string, digest: string, recorded: RecordedEffect): Json {
    if (recorded.requestDigest === digest) return this.#response(key, recorded);
    throw new FatalError(`${this.#operation}: key ${key} was used with another request; nothing was changed.`, {
      operation: this.#operation,
      key,
    });
  }

  #response(key: string, { response }: RecordedEffect): Json {
    if (response !== null) return JSON.parse(response) as Json;
    throw new FatalError(`${this.#operation}: key ${key} has no response: run ended its transaction.`, {
      operation: this.#operation,
      key,
    });
  }
}

const NO_TABLE = '42P01';
const CANCELED = '57014';

const digestOf = (request: unknown): string =>
  createHash('sha256')
    .update(canonicalJson(toJson(request ?? null, 'request')))
    .digest('hex');
