/** Owns creating a missing database on a server. */

import pg from 'pg';
import { connectionOf, type StoreAddress } from './address.ts';
import { faultOf } from './faults.ts';
import { PoolClient } from './pool-client.ts';

export const isMissingDatabase = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '3D000';

/** Databases that every server has, from which others are created. */
const MAINTENANCE = ['postgres', 'template1'];
/** SQLSTATEs of a database that exists, or that another process is creating at this moment. */
const CREATED_ELSEWHERE = new Set(['42P04', '23505']);

export async function createDatabase(address: StoreAddress): Promise<void> {
  let failure: unknown;
  for (const database of MAINTENANCE) {
    const client = new PoolClient({ ...connectionOf(address, database), max: 1 });
    try {
      await client.script(`create database ${pg.escapeIdentifier(address.database)}`);
      return;
    } catch (error) {
      if (error instanceof pg.DatabaseError && CREATED_ELSEWHERE.has(error.code ?? '')) return;
      if (!isMissingDatabase(error)) throw faultOf(error, address.shown);
      failure = error;
    } finally {
      await client.close();
    }
  }
  throw faultOf(failure, address.shown);
}
