import { describe, expect, test } from 'vitest';
import { parseAddress } from './address.ts';

describe('address', () => {
  test('is shown without credentials, with its defaults', () => {
    expect(parseAddress('postgres://me:secret@db.example:6000/tide?sslmode=disable').shown).toBe(
      'postgres://db.example:6000/tide',
    );
    expect(parseAddress('postgresql://me@db.example').shown).toBe('postgres://db.example:5432/me');
    expect(parseAddress('postgres:///tide?host=/run/postgresql').shown).toBe('postgres:///run/postgresql:5432/tide');
  });

  test('leads to another database with the same credentials and settings', () => {
    expect(parseAddress('postgres://me:s%40@db/tide?sslmode=disable').at('postgres')).toBe(
      'postgres://me:s%40@db/postgres?sslmode=disable',
    );
    expect(parseAddress('postgres://db/a%20b').database).toBe('a b');
  });
});
