import { describe, expect, test } from 'vitest';
import { parseAddress } from './address.ts';

describe('address', () => {
  test('is shown without credentials, with its defaults', () => {
    expect(parseAddress({ url: 'postgres://me:secret@db.example:6000/tide?sslmode=disable' }).shown).toBe(
      'postgres://db.example:6000/tide',
    );
    expect(parseAddress({ url: 'postgresql://me@db.example' }).shown).toBe('postgres://db.example:5432/me');
    expect(parseAddress({ url: 'postgres:///tide?host=/run/postgresql' }).shown).toBe(
      'postgres:///run/postgresql:5432/tide',
    );
  });

  test('is refused without being repeated where a part of the password would be shown as the database', () => {
    for (const url of ['postgres://me:7/hunter2@db/tide', 'postgres://me:7?hunter2@db/tide', 'me:hunter2@db']) {
      expect(() => parseAddress({ url })).toThrow(expect.objectContaining({ code: 'store-address' }));
      expect(() => parseAddress({ url })).not.toThrow(/hunter2/);
    }
    expect(parseAddress({ url: 'postgres://me:7%2Fhunter2@db/tide' }).shown).toBe('postgres://db:5432/tide');
  });

  test('leads to another database with the same credentials and settings', () => {
    expect(parseAddress({ url: 'postgres://me:s%40@db/tide?sslmode=disable' }).at('postgres')).toBe(
      'postgres://me:s%40@db/postgres?sslmode=disable',
    );
    expect(parseAddress({ url: 'postgres://db/a%20b' }).database).toBe('a b');
  });
});
