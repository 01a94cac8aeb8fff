/** The walks of CONTRIBUTING.md lead from function to function, and are no longer than a reader can follow. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { walksIn } from '../../scripts/walk.ts';

const pageOf = (walk: string): string => `## From \`ctx.effect\` to the row and back\n\n### A\n\n${walk}\n\n## Next\n`;
const GATE = 'libs/engine/runtime/src/kernel/run-gate.ts';
const JOURNAL = 'libs/engine/runtime/src/effects/effect-journal.ts';
const lineOf = (file: string, text: string): number =>
  readFileSync(file, 'utf8')
    .split('\n')
    .findIndex((line) => line.trim().startsWith(text)) + 1;
const linkTo = (name: string, file: string, text: string): string => `[\`${name}\`](${file}#L${lineOf(file, text)})`;

it('an effect is followed to the log and to its row without a turn back (mend moved lines with node scripts/walk.ts --write)', () => {
  const walks = walksIn();
  expect(walks.flatMap(({ problems }) => problems)).toEqual([]);
  expect(walks.map(({ name, turnsBack }) => [name, turnsBack])).toEqual([
    ['To the step', 0],
    ['To the append', 0],
    ['To the outcome', 0],
    ['To the row', 0],
    ['And back', 0],
  ]);
  const [, append, , row] = walks;
  expect(append!.files).toBeLessThanOrEqual(20);
  expect(append!.hops).toBeLessThanOrEqual(35);
  expect(row!.files).toBeLessThanOrEqual(20);
});

it('a link beside its declaration, a function that nothing calls and a closure that was passed on are noticed', () => {
  expect(walksIn(pageOf(`1. [\`quiet\`](${GATE}#L1)`))[0]?.problems).toEqual([`quiet at ${GATE}:1 is no declaration`]);
  const passing = lineOf(GATE, 'async passing');
  const uncalled = `1. ${linkTo('opening', GATE, 'opening(')}\n2. ${linkTo('passing', GATE, 'async passing')}`;
  expect(walksIn(pageOf(uncalled))[0]?.problems).toEqual([`no hop before passing at ${GATE}:${passing} calls it`]);
  expect(walksIn(pageOf(uncalled.replace('2. ', '2. *It is open:* ')))[0]?.problems).toEqual([]);
  const closure = `1. ${linkTo('#closure', JOURNAL, 'async #closure(')}, ${linkTo('answer', JOURNAL, 'const answer =')}`;
  expect(walksIn(pageOf(closure))[0]).toMatchObject({ files: 1, hops: 2, turnsBack: 1, problems: [] });
});
