/** S4: a secret field's text opens only at its own place, and is refused elsewhere; a parser's result is sealed where it stands. */

import { generateKeySync } from 'node:crypto';
import { DEFAULT_TENANT, type Json, workflowId } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import type { Parse } from '../definition/definition.ts';
import { Vault } from './secret-vault.ts';

const KEY = { id: '019abcde-0000-7000-8000-000000000001', key: generateKeySync('aes', { length: 256 }) };
const vaultOf = (workflow: string): Vault =>
  new Vault({ tenant: DEFAULT_TENANT, workflow: workflowId(workflow) }, [KEY]);
const VAULT = vaultOf('w');

/** Marks `card` wherever it is, `all` with its content, and nothing else. */
const marked: Parse = (value, seal) => {
  const parse = (each: Json): Json => {
    if (Array.isArray(each)) return each.map(parse);
    if (typeof each !== 'object' || each === null) return each;
    return Object.fromEntries(
      Object.entries(each).map(([name, member]): [string, Json] => {
        const parsed = parse(member);
        return [name, seal !== undefined && (name === 'card' || name === 'all') ? seal(parsed) : parsed];
      }),
    );
  };
  return parse(value as Json);
};

const plain: Json = {
  card: '4111',
  all: { card: '4222', n: 1 },
  list: [{ card: '4111' }, { card: '4111' }],
  note: 'x',
};
const belief = VAULT.sealing(marked, 'belief');
const sealed = belief(plain) as { card: string; all: string; list: { card: string }[]; note: string };

describe('a sealed value', () => {
  it('has every secret as a text, the same each time, and opens for what it was sealed for', () => {
    expect(JSON.stringify(sealed)).not.toMatch(/4111|4222|held:/);
    expect(belief(plain)).toEqual(sealed);
    expect(belief(sealed)).toEqual(sealed);
    expect(VAULT.open(sealed, 'belief')).toEqual(plain);
    expect(VAULT.reveal({ any: [sealed] })).toEqual({ any: [plain] });
    // Items of a list are one place.
    expect(sealed.list[0]).toEqual(sealed.list[1]);
  });

  it.each([
    ['another purpose', 'input', { card: sealed.card }],
    ['another field', 'belief', { note: sealed.card }],
    ['another path', 'belief', { other: { card: sealed.card } }],
    ['the place of a list, for one that is in none', 'belief', { card: sealed.list[0]!.card }],
    ['another field that is secret', 'belief', { all: sealed.card }],
  ] as const)('is neither opened nor taken for %s', (_what, purpose, value) => {
    expect(VAULT.open(value as Json, purpose)).toEqual(value);
    expect(() => VAULT.sealing(marked, purpose)(value)).toThrow(expect.objectContaining({ code: 'secret-misplaced' }));
  });

  it("is another workflow's nowhere", () => {
    const other = vaultOf('v');
    expect(other.open(sealed, 'belief')).toEqual(sealed);
    expect(other.reveal(sealed)).toEqual(sealed);
  });

  it('is not made of what is shown in place of a secret, nor of a text that nobody can open', () => {
    expect(() => belief({ card: '[secret]' })).toThrow(expect.objectContaining({ code: 'secret-masked' }));
    const foreign = `secret:1:${'p'.repeat(22)}:019abcde-0000-7000-8000-00000000ffff:${'A'.repeat(60)}`;
    expect(() => belief({ card: foreign })).toThrow(expect.objectContaining({ code: 'key-missing' }));
    expect(belief({ note: foreign })).toEqual({ note: foreign });
  });
});
