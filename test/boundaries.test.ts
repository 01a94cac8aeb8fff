/**
 * Proves that the boundary check catches each fault it exists for, one fixture a fault, and passes the real tree.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { checkBoundaries } from '../scripts/boundaries.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const fixtures = path.join(root, 'test/fixtures/boundaries');

/** Each fixture's folder is the name of the rule, and, where a rule has several ways to be broken, which. */
const rules = [
  'core-globals',
  'core-imports',
  'cycle',
  'default-export',
  'direction',
  'door',
  'event-words',
  'file-size',
  'folder-size',
  'function-size',
  'inner-barrel',
  'ports-imports',
  'room',
  'star-export',
  'syntax',
  'testkit-in-product',
  'undeclared',
  'unknown-layer',
] as const;

describe('a fixture that must fail', () => {
  const names = readdirSync(fixtures).filter((name) => name !== 'sound');

  test.each(names)('%s', (name) => {
    const found = checkBoundaries(path.join(fixtures, name)).violations.map(({ rule }) => rule);
    const expected = rules.find((rule) => name === rule || name.startsWith(`${rule}-`));
    expect(expected).toBeDefined();
    expect(new Set(found)).toEqual(new Set([expected]));
  });

  test('there is one for every rule', () => {
    const missing = rules.filter((rule) => !names.some((name) => name === rule || name.startsWith(`${rule}-`)));
    expect(missing).toEqual([]);
  });
});

test('a sound tree passes', () => {
  expect(checkBoundaries(path.join(fixtures, 'sound')).violations).toEqual([]);
});

test('the project itself passes', () => {
  const { violations, fileCount } = checkBoundaries(root);
  expect(fileCount).toBeGreaterThan(50);
  expect(violations.map(({ file, line, message }) => `${file}:${line} ${message}`)).toEqual([]);
});
