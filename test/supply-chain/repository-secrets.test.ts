/** No file of the repository holds something of the form of a real secret; what tests make up is named here, and nothing else passes. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PATTERNS } from '@tidemark/secrets';
import { expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
/** Forms by which only a word in front tells that it is one are full of prose. */
const UNSURE = new Set(['password', 'token', 'authorization-header']);
const MADE_UP =
  /hunter2|hush-hush|hush@hush|hu@nter2|s3cret-word|s3cr3t|s%40|p@rt|user:pass@|:p@1|:pearl@|tidemark:tidemark@|AKIAIOSFODNN7EXAMPLE/;

function foundIn(text: string): readonly string[] {
  const sure = PATTERNS.filter(({ kind }) => !UNSURE.has(kind));
  return sure.flatMap(({ kind, form, counts = () => true }) =>
    [...text.matchAll(form)]
      .filter(([whole, group]) => counts(group ?? whole) && !MADE_UP.test(whole))
      .map((match) => `line ${text.slice(0, match.index).split('\n').length}: ${kind}`),
  );
}

test('nothing that git knows of holds one', () => {
  const names = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  const files = names.split('\0').filter((name) => name !== '' && name !== 'package-lock.json');
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((name) => {
    const bytes = readFileSync(path.join(root, name));
    return bytes.includes(0) ? [] : foundIn(bytes.toString('utf8')).map((one) => `${name} ${one}`);
  });
  expect(found).toEqual([]);
});

test('one would be found (control)', () => {
  const [key, token] = [`-----BEGIN ${'PRIVATE'} KEY-----`, `ghp_${'aB3dE5fG7hJ9kL1mN0pQ'.repeat(2)}`];
  expect(foundIn(`a\n${key}\n${token}\npostgres://ana:${'Tr0ub4dor'}@db/x`)).toEqual([
    'line 2: private-key',
    'line 3: github-token',
    'line 4: connection-string',
  ]);
});
