/** The policy on secrets in one value: by policy, place and kind, never with the secret; and values that no policy may touch. */

import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { InvalidError } from '@tidemark/core';
import { describe, expect, it, vi } from 'vitest';
import { guardOf, type OnSecret, type StoredSecret } from './secret-guard.ts';

const TOKEN = `gh${'p_'}${'q7Zr2mX9wK4v'.repeat(3)}`;
const VALUE = { notes: [{ text: `use ${TOKEN} here` }], apiKey: 'live1234', pin: 4, [TOKEN]: true };
const MASKED = {
  notes: [{ text: 'use [masked github-token] here' }],
  apiKey: '[masked password]',
  pin: 4,
  '[masked github-token]': true,
};

function guarded(onSecret: OnSecret) {
  const [count, stored] = [vi.fn(), [] as StoredSecret[]];
  const secretPolicy = { onSecret: 'report' as const, onStored: (each: StoredSecret) => stored.push(each) };
  return { guard: guardOf('d', [{ onSecret }], { telemetry: { count }, secretPolicy }), count, stored };
}

describe('a value with secrets', () => {
  it('is reported by place and kind, and left', () => {
    const { guard, count, stored } = guarded('report');
    expect(guard.take('belief', 'belief', VALUE)).toBe(VALUE);
    expect(count).toHaveBeenCalledWith('secrets_found_total', 1, { place: 'belief', kind: 'github-token' });
    expect(stored.map(({ place, kind }) => `${place} ${kind}`)).toEqual([
      '/notes/0/text github-token',
      '/apiKey password',
      '/(a key) github-token',
    ]);
    expect(JSON.stringify([stored, count.mock.calls])).not.toContain(TOKEN);
  });

  it('is masked, the same each time, and once', () => {
    const { guard, stored } = guarded('mask');
    const masked = guard.take('belief', 'belief', VALUE);
    expect(masked).toEqual(MASKED);
    expect(guard.take('belief', 'belief', VALUE)).toEqual(masked);
    expect(guard.take('belief', 'belief', masked)).toBe(masked);
    expect(VALUE.apiKey).toBe('live1234');
    expect(stored).toEqual([]);
  });

  it('is refused by field, place and kind', () => {
    const { guard } = guarded('refuse');
    const refused = (): unknown => guard.take('output', 'output of step draft', VALUE);
    expect(refused).toThrow(InvalidError);
    expect(refused).toThrow(/^output of step draft holds .*: \/notes\/0\/text \(github-token\), \/apiKey \(password\)/);
    expect(refused).not.toThrow(TOKEN);
  });

  it('has names of its own for keys that are masked alike', () => {
    const other = TOKEN.replace('q7', 'q8');
    expect(guarded('mask').guard.take('belief', 'belief', { [TOKEN]: 1, [other]: 2 })).toEqual({
      '[masked github-token]': 1,
      '[masked github-token] 2': 2,
    });
  });

  it('that is too large to be searched is neither masked nor passed', () => {
    const large = { text: 'word '.repeat(1_000_000) };
    for (const onSecret of ['mask', 'refuse'] as const) {
      const { guard } = guarded(onSecret);
      expect(() => guard.take('belief', 'belief', large)).toThrow(/too-large-to-search/);
      expect(guard.answered('response', 'response of pay', large).value).toBe('[masked too-large-to-search]');
    }
    expect(guarded('report').guard.take('belief', 'belief', large)).toBe(large);
  });

  it('passes with any number of ids that look random, and is masked among them', () => {
    const ids = Array.from({ length: 1_500 }, nanoid);
    for (const onSecret of ['mask', 'refuse'] as const) {
      expect(guarded(onSecret).guard.answered('answer', 'answer', ids)).toEqual({ value: ids });
    }
    expect(guarded('mask').guard.take('answer', 'answer', [...ids, TOKEN])).toEqual([...ids, '[masked github-token]']);
  });

  it('in an error is masked in its message, stack and causes', () => {
    const { guard } = guarded('refuse');
    const error = new TypeError(`no ${TOKEN}`, { cause: new Error(`401 for ${TOKEN}`) });
    expect(guard.error('error of step draft', error)).toBe(error);
    expect(error.message).toBe('no [masked github-token]');
    expect(`${error.stack} ${(error.cause as Error).message} ${(error.cause as Error).stack}`).not.toContain(TOKEN);
  });
});

it('the strictest of the versions that are known decides; without any, the deployment', () => {
  const ports = { telemetry: { count: vi.fn() }, secretPolicy: { onSecret: 'mask' as const } };
  const taken = (known: readonly { onSecret?: OnSecret }[]) =>
    guardOf('d', known, ports).take('signal', 'value', TOKEN);
  expect(taken([])).toBe('[masked github-token]');
  expect(taken([{}])).toBe('[masked github-token]');
  expect(taken([{ onSecret: 'report' }])).toBe(TOKEN);
  expect(() => taken([{ onSecret: 'report' }, { onSecret: 'refuse' }])).toThrow(InvalidError);
});

const SEED = `TIDEMARK_TEST_SEED=${process.env.TIDEMARK_TEST_SEED}`;
/** Bytes that look random and follow from the run's seed. */
let drawnCount = 0;
const drawn = (outputLength: number): Buffer =>
  createHash('shake256', { outputLength }).update(`${SEED} ${drawnCount++}`).digest();
const drawnUuid = (): string =>
  drawn(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
const LETTERS = 'useandom-26T198340PX75pxJACKVERYMINDBUSHWOLF_GQZbfghjklqvwyzrict';
const nanoid = (): string => Array.from(drawn(21), (byte) => LETTERS[byte & 63]).join('');
const hex = (bytes: number): string => drawn(bytes).toString('hex');

/** Values that fill the states of agents. */
const INNOCENT: Readonly<Record<string, () => unknown>> = {
  'a UUID': () => drawnUuid(),
  'a SHA-256 in hexadecimal': () => hex(32),
  'a commit': () => `see ${hex(20)} in main`,
  'a SHA-256 in base64': () => createHash('sha256').update(hex(4)).digest('base64'),
  'an integrity': () => `sha512-${drawn(64).toString('base64')}`,
  'a nanoid': () => ({ id: nanoid() }),
  'a checkpoint': () => ({ checkpoint: `019abcde-0000-7000-8000-${hex(6)}`, key: `wf-${hex(4)}/3.1/pay#1` }),
  'an image': () => `data:image/png;base64,${drawn(600).toString('base64')}`,
  'an image without its type': () => drawn(600).toString('base64'),
  'a cursor': () => ({ nextToken: drawn(24).toString('base64'), page_token: `CAUQ${hex(6)}`, cursor: nanoid() }),
  'a signature of a thought': () => ({
    detail: [{ type: 'reasoning', signature: drawn(200).toString('base64') }],
  }),
  'tokens of an answer': () => ({ content: [{ token: 'Europe', logprob: -0.1 }, { token: 'ination' }] }),
  'counts of tokens': () => ({ tokens: 123_456, maxTokens: 64_000, inputTokens: 999_999 }),
  'a sealed secret field': () => ({ password: `secret:1:${'p'.repeat(22)}:${drawnUuid()}:${'A'.repeat(60)}` }),
  'a masked one': () => ({ password: '[secret]', token: '[masked github-token]' }),
};

describe.each(['mask', 'refuse'] as const)(`by the policy %s (${SEED})`, (onSecret) => {
  const { guard, stored } = guarded(onSecret);

  it.each(Object.entries(INNOCENT))('%s passes', (_what, make) => {
    for (const value of Array.from({ length: 200 }, make)) expect(guard.take('belief', 'belief', value)).toBe(value);
    expect(stored).toEqual([]);
  });

  it('all source code, documentation and lock files of the project pass, but for those about secrets', () => {
    const root = path.resolve(import.meta.dirname, '../../../../..');
    const names = globSync(['libs/*/*/src/**/*.ts', 'docs/*.md', 'docs/{guides,decisions}/*.md', 'package-lock.json'], {
      cwd: root,
    });
    const found = names
      .filter((name) => !name.includes('.test.') && !name.startsWith('libs/testkit'))
      .filter((name) => {
        const text = readFileSync(path.join(root, name), 'utf8');
        return guard.answered('belief', name, { text }).value.text !== text;
      });
    expect(names.length).toBeGreaterThan(500);
    expect(found).toEqual([]);
  });
});
