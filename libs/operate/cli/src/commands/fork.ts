/** Owns `tidemark fork` and `tidemark compare`: a workflow that starts from a checkpoint of another, and the comparison of the two. */

import { Option } from '@commander-js/extra-typings';
import type { Answer } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import { wholeNumber } from '../arguments.ts';
import { readJson } from '../input.ts';
import type { Place } from '../place/place.ts';
import type { ProgramKit } from '../program/program-kit.ts';
import { modules, places } from '../program/shared-options.ts';
import { type At, atWords, commandLine, shellWord } from '../text/shell.ts';
import { printable } from '../text/width.ts';
import { forkWords } from '../views/fork.ts';

const FORK = 'POST /v1/workflows/{workflow}/forks';
type Forked = Answer<typeof FORK>;

const sequence = wholeNumber(0, Number.MAX_SAFE_INTEGER);

export function addFork(kit: ProgramKit): void {
  const { command, asks } = kit;
  const forking = command('fork', 'start a new run from a checkpoint of another, whose history up to there it shares')
    .argument('<id>', 'id of the run')
    .requiredOption('--at <sequence>', 'the checkpoint after which it starts; 0: the opening', sequence)
    .addOption(
      new Option(
        '--effects <how>',
        'replay: what the run recorded answers, nothing is called; live: effects are called',
      )
        .choices(['replay', 'live'])
        .default('replay'),
    )
    .option('--with <belief>', 'begin with this belief: a file of JSON, JSON itself, or - for standard input')
    .option('--version <version>', 'run with exactly this version of the workflow', sequence)
    .option('--id <id>', 'id of the fork; the same id is the same fork (default: a new one)')
    .option('--by <name>', 'who makes it, where state is a folder (default: your name here; a server knows you)');
  places(modules(kit, forking)).action(
    asks('read', async (workflow, options) => {
      const { at, effects, version, id } = options;
      const belief = options.with === undefined ? undefined : await readBelief(options.with, kit);
      const input = { params: { workflow }, body: { at, effects, id, belief, version } };
      return async ({ client, place, terminal, report }) => {
        const forked = await client.ask(FORK, input, { isRepeatable: id !== undefined });
        // A later command should see it; a longer wait is not worth a message.
        await client
          .run(forked.workflow)
          .get({ content: false })
          .catch(() => {});
        report(forked, forked.workflow);
        for (const line of notesOn(forked, place, options)) terminal.note(terminal.paintNote('dim', line));
      };
    }),
  );
  places(command('compare', 'show how two runs differ: outcome, first checkpoint that differs, tokens, cost'))
    .argument('<id>', 'id of a run')
    .argument('<other>', 'id of the other')
    .action(
      asks('read', (workflow, other) => async ({ client, terminal, report }) => {
        // Other commands must not wait for it.
        const { comparisonLines } = await import('../views/comparison.ts');
        const params = { workflow, other };
        const comparison = await client.ask('GET /v1/workflows/{workflow}/comparison/{other}', { params });
        report(comparison, ...comparisonLines(comparison, terminal));
      }),
    );
}

/** JSON itself, `-`, or a file, with or without `@`. */
function readBelief(given: string, kit: ProgramKit): Promise<Json> {
  const isJson = /^\s*[[{"@]|^-$|^(null|true|false|-?\d+(\.\d+)?)$/.test(given);
  return readJson('--with', isJson ? given : `@${given}`, kit);
}

/** Says what it is, what starts anew in it, and how to follow it. */
function* notesOn(
  forked: Forked,
  place: Place,
  options: At & { readonly workflows?: readonly string[] },
): Iterable<string> {
  const { workflows = [] } = options;
  const { workflow, created, base, definition, begun } = forked;
  const words = forkWords(base);
  const what = `${created ? 'Started' : 'Was started before'}: ${words}`;
  if (place.isIdle) {
    const modules = workflows.length === 0 ? ' MODULES' : workflows.map((module) => ` ${shellWord(module)}`).join('');
    const run = commandLine('tidemark', 'run', definition, '--id', workflow, ...atWords(options));
    yield `${what}. It runs with the next tidemark dev or run on ${place.shown}:`;
    yield `  ${run} --workflows${modules}`;
  } else yield `${what}. ${commandLine('tidemark', 'watch', workflow, ...atWords(options))} follows it.`;
  for (const { task, operation, status } of begun) {
    const handling =
      base.effects === 'live' ? 'it is called again, under a key of its own' : 'what was recorded answers it';
    const was = status === 'intended' ? 'under way' : status;
    yield `${printable(operation)} of task ${task} was ${was} there; the task begins again, and ${handling}.`;
  }
}
