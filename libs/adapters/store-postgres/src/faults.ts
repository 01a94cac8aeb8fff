/**
 * Owns what a driver's error means to the caller. An address in an error never has credentials.
 *
 * | cause | error | code |
 * | --- | --- | --- |
 * | no answer, refused, wrong password, ended, restarting, full, read-only | Unavailable | store-unavailable |
 * | a database, a table or a part of one is missing: `ensure` creates it | Unavailable | store-missing |
 * | partitions are not where the batch starts | Conflict | projection-moved |
 * | damaged pages or files | Corrupt | store-damaged |
 * | rows exist already, or violate a constraint | Corrupt | store-contradiction |
 * | the role lacks a right | Config | store-forbidden |
 */

import { ConfigError, ConflictError, CorruptError, messageOf, TidemarkError, UnavailableError } from '@tidemark/core';
import pg from 'pg';
import type { SqlClient } from './sql-client.ts';

/**
 * SQLSTATEs of an undefined database, schema, table, column and function. The last two occur when an older release recreated dropped
 * tables, or a newer one contracted them; `ensure` then creates what is missing, or refuses.
 */
const MISSING = new Set(['3D000', '3F000', '42P01', '42703', '42883']);

export function faultOf(error: unknown, address: string): TidemarkError {
  if (error instanceof TidemarkError) return error;
  const code = error instanceof pg.DatabaseError ? error.code : undefined;
  const said = messageOf(error);
  const details = { address, ...(code === undefined ? {} : { sqlState: code }), cause: error };
  if (code === undefined) {
    return new UnavailableError('store-unavailable', `The store at ${address} does not answer: ${said}`, details);
  }
  if (code === 'TM001') {
    return new ConflictError('projection-moved', 'A partition is not where this batch starts: load it again', details);
  }
  if (MISSING.has(code)) {
    return new UnavailableError('store-missing', `The store at ${address} has to be created: ${said}`, details);
  }
  if (/^(XX001|XX002)/.test(code)) {
    return new CorruptError('store-damaged', `The store at ${address} is damaged: ${said}`, details);
  }
  if (code.startsWith('23')) {
    return new CorruptError('store-contradiction', `The store at ${address} contradicts the log: ${said}`, details);
  }
  if (code === '42501') {
    return new ConfigError('store-forbidden', `The store at ${address} does not allow it: ${said}`, details);
  }
  if (/^(08|25006|28|40|53|55|57|58|26|XX)/.test(code)) {
    return new UnavailableError('store-unavailable', `The store at ${address} is not available: ${said}`, details);
  }
  return new TidemarkError('store-failed', `The store at ${address} refused a statement: ${said}`, details);
}

/** The client, with errors as the port names them, whatever the driver throws. */
export function withFaults(client: SqlClient, address: string): SqlClient {
  const named = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw faultOf(error, address);
    });
  return {
    run: (statements) => named(client.run(statements)),
    script: (text) => named(client.script(text)),
    session: (work) => named(client.session(work)),
    close: () => client.close(),
  };
}
