import { Command } from '@commander-js/extra-typings';
import { InvalidError } from '@tidemark/core';
import { expect, it } from 'vitest';
import { inWordsOf, withShortValues } from './own-words.ts';

const set = new Command('set')
  .argument('<id>')
  .argument('<workflow>')
  .option('--time-zone <name>')
  .option('--as <what>')
  .option('--tag <name>')
  .option('--limit <count>');

it.each([
  ['an option', "timeZone: 'Mars' is no time zone", "--time-zone: 'Mars' is no time zone"],
  ['an option that the API calls otherwise', "resolution: 'x' doesn't fit", "--as: 'x' doesn't fit"],
  ['an argument', "workflow: nothing is named 'x'", "<workflow>: nothing is named 'x'"],
  ['an argument that the API calls otherwise', 'definition: no workflow is named', '<workflow>: no workflow is named'],
  [
    'each field of a wrong request',
    'The request is wrong: path.schedule: Give at most 9; query.limit: Give at least 1; body.time_zone: is missing.',
    '<id>: Give at most 9; --limit: Give at least 1; --time-zone: is missing.',
  ],
  [
    'what is wrong within a value',
    'The request is wrong: body.limit.boxes: is missing.',
    '--limit: boxes: is missing.',
  ],
  ['a list', 'The request is wrong: body.tags.0: Too long.', '--tag: Too long.'],
  ['a field within another', 'The request is wrong: body.spec.time_zone: is missing.', '--time-zone: is missing.'],
  ['such a field by itself', 'spec.time_zone: is missing', '--time-zone: is missing'],
  ['what the command does not have by its place', 'The request is wrong: body.spec.colour: bad.', 'spec.colour: bad.'],
  ['nothing that the command does not have', 'colour: is wrong', 'colour: is wrong'],
  ['nothing in the middle of a message', 'w1 stopped: limit: 5', 'w1 stopped: limit: 5'],
])('a message names %s', (_, message, shown) => {
  const [, list] = /^The request is wrong: (.*)\.$/.exec(message) ?? [];
  const fields = list?.split('; ').map((each) => {
    const [field, ...problem] = each.split(': ');
    return { field, problem: problem.join(': ') };
  });
  const error = new InvalidError('request-invalid', message, { fields });
  expect(inWordsOf(set as never, error)).toBe(shown);
});

it('cuts what was typed, however it was given, and nothing else', () => {
  const long = 'x'.repeat(3_000);
  const shown = `${'x'.repeat(199)}…`;
  const words = `No workflow has the id '${long}', and ${'y'.repeat(300)} stays.`;
  for (const arg of [long, `--id=${long}`, `@${long}`]) {
    expect(withShortValues(words, ['show', arg])).toBe(words.replace(long, shown));
  }
});
