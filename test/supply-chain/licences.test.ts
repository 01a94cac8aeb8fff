/** Licences of dependencies: a sound tree passes, each fault of a bad one is named, and the project's own policy has nothing to spare. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { isAllowed, type LicencePolicy, licenceFaults } from '../../scripts/supply-chain/licence-rules.ts';
import policy from '../../scripts/supply-chain/licences.json' with { type: 'json' };
import { readLock } from '../../scripts/supply-chain/lockfile.ts';
import { shippedOf } from '../../scripts/supply-chain/shipped.ts';

const root = path.resolve(import.meta.dirname, '../..');
const fixture = (name: string): string => path.join(root, 'test/fixtures/supply-chain', name);
const plain: LicencePolicy = { ...policy, exceptions: {} };

function faultsOf(folder: string, by: LicencePolicy): readonly string[] {
  const lock = readLock(folder);
  const shipped = new Set(shippedOf(lock).flatMap(({ packages }) => packages.map(({ place }) => place)));
  return licenceFaults(lock, shipped, by);
}

test('a sound tree passes: alternatives, other rules for what only develops, builds for other platforms', () => {
  expect(faultsOf(fixture('sound'), plain)).toEqual([]);
});

test('each fault of a bad tree is named', () => {
  expect(faultsOf(fixture('bad'), plain)).toEqual([
    '@other/build-plan9 1.0.0 (shipped) names no licence',
    'both 1.0.0 (shipped) is under MIT AND GPL-2.0-only, which is not allowed',
    'copyleft 1.0.0 (shipped) is under GPL-3.0-only, which is not allowed',
    'odd 1.0.0 (shipped) is under SEE LICENSE IN TERMS.txt, which is not allowed',
    'tester 1.0.0 (to develop) is under AGPL-3.0-only, which is not allowed',
    'unlicensed 1.0.0 (shipped) names no licence',
    'weak 1.0.0 (shipped) is under MPL-2.0, which is not allowed',
  ]);
});

test('an exception is for one package and one licence, and goes when nothing needs it', () => {
  const exceptions = {
    unlicensed: { licence: 'MIT', reason: 'Its LICENSE says so.' },
    copyleft: { licence: 'LGPL-3.0-only', reason: 'It was that once.' },
    alpha: { licence: 'MIT', reason: 'None needed.' },
  };
  const faults = faultsOf(fixture('bad'), { ...policy, exceptions });
  expect(faults.some((fault) => fault.startsWith('unlicensed'))).toBe(false);
  expect(faults).toContain('copyleft 1.0.0 (shipped) is under GPL-3.0-only, which is not allowed');
  expect(faults).toContain('alpha is an exception that nothing needs: take it out');
});

test('expressions: every part of what holds together, one of what is offered', () => {
  const allowed = ['MIT', 'ISC', 'GPL-2.0-only WITH Classpath-exception-2.0'];
  const verdicts = [
    'MIT',
    'MIT AND ISC',
    'GPL-2.0-only',
    'GPL-2.0-only WITH Classpath-exception-2.0',
    'ISC OR X',
    'mit',
  ].map((expression) => [expression, isAllowed(expression, allowed)]);
  expect(Object.fromEntries(verdicts)).toEqual({
    MIT: true,
    'MIT AND ISC': true,
    'GPL-2.0-only': false,
    'GPL-2.0-only WITH Classpath-exception-2.0': true,
    'ISC OR X': false,
    mit: false,
  });
});
