import { ConfigError } from '@tidemark/core';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { faultOf } from './faults.ts';

function answer(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError('said', 4, 'error');
  error.code = code;
  return error;
}

describe('faults', () => {
  test.each([
    ['28P01', 'UnavailableError', 'store-unavailable'],
    ['57P01', 'UnavailableError', 'store-unavailable'],
    ['57P03', 'UnavailableError', 'store-unavailable'],
    ['53300', 'UnavailableError', 'store-unavailable'],
    ['40P01', 'UnavailableError', 'store-unavailable'],
    ['25006', 'UnavailableError', 'store-unavailable'],
    ['3D000', 'UnavailableError', 'store-missing'],
    ['42P01', 'UnavailableError', 'store-missing'],
    ['TM001', 'ConflictError', 'projection-moved'],
    ['XX001', 'CorruptError', 'store-damaged'],
    ['23505', 'CorruptError', 'store-contradiction'],
    ['42501', 'ConfigError', 'store-forbidden'],
    ['22003', 'TidemarkError', 'store-failed'],
  ])('SQLSTATE %s is %s %s', (sqlState, name, code) => {
    const fault = faultOf(answer(sqlState), 'postgres://db:5432/tide');
    expect(fault).toMatchObject({ name, code, details: { sqlState, address: 'postgres://db:5432/tide' } });
  });

  test('what is no answer of Postgres is an absence; what has a name keeps it', () => {
    expect(faultOf(new Error('read ECONNRESET'), 'here')).toMatchObject({ code: 'store-unavailable' });
    const own = new ConfigError('store-locked', 'locked');
    expect(faultOf(own, 'here')).toBe(own);
  });
});
