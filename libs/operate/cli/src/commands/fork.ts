/** Owns `tidemark fork` and `tidemark compare`: a workflow that starts from a checkpoint of another, and the comparison of the two. */

import type { Answer } from '@tidemark/client';
import type { Fork, Json } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { readDefinitions } from '../definitions.ts';
import { readJson } from '../input.ts';
import { atPlace, type Place, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { atWords, commandLine, shellWord } from '../text/shell.ts';
import { printable } from '../text/width.ts';
import { comparisonLines } from '../views/comparison.ts';
import { forkWords } from '../views/fork.ts';

export interface ForkCommandOptions extends PlaceOptions {
  readonly at: number;
  readonly effects: Fork['effects'];
  /** The belief to begin with: JSON, a file, or `-`. */
  readonly with?: string | undefined;
  readonly version?: number | undefined;
  readonly id?: string | undefined;
  readonly by?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
}

const FORK = 'POST /v1/workflows/{workflow}/forks';
type Forked = Answer<typeof FORK>;

export async function fork(session: Session, workflow: string, options: ForkCommandOptions): Promise<number> {
  const { terminal, cwd } = session;
  const { at, effects, version, workflows: named = [], id } = options;
  const belief = options.with === undefined ? undefined : await readBelief(options.with, session);
  const body = {
    ...{ at, effects },
    ...(id !== undefined && { id }),
    ...(belief !== undefined && { belief }),
    ...(version !== undefined && { version }),
  };
  const definitions = async () => (named.length === 0 ? [] : readDefinitions(named, cwd));
  return atPlace(session, { ...options, how: 'read', definitions }, async (place) => {
    const forked = await place.client.ask(FORK, { params: { workflow }, body }, { isRepeatable: id !== undefined });
    // A later command should see it; a longer wait is not worth a message.
    await place.client
      .run(forked.workflow)
      .get({ content: false })
      .catch(() => {});
    terminal.answer(forked);
    terminal.line(forked.workflow);
    for (const line of notesOn(forked, place, options)) terminal.note(terminal.paintNote('dim', line));
    return EXIT.ok;
  });
}

/** JSON itself, `-`, or a file, with or without `@`. */
function readBelief(given: string, session: Session): Promise<Json> {
  const isJson = /^\s*[[{"@]|^-$|^(null|true|false|-?\d+(\.\d+)?)$/.test(given);
  return readJson('--with', isJson ? given : `@${given}`, session);
}

/** Says what it is, what starts anew in it, and how to follow it. */
function* notesOn(forked: Forked, place: Place, options: ForkCommandOptions): Iterable<string> {
  const { workflows = [] } = options;
  const { workflow, created, base, definition, begun } = forked;
  const words = forkWords(base);
  const what = `${created ? 'Started' : 'Was started before'}: ${words}`;
  if (place.isIdle) {
    const modules = workflows.length === 0 ? ' MODULES' : workflows.map((module) => ` ${shellWord(module)}`).join('');
    const run = commandLine('tidemark', 'run', definition, '--id', workflow, ...atWords(options));
    yield `${what}. It goes on with the next tidemark dev or run on ${place.shown}:`;
    yield `  ${run} --workflows${modules}`;
  } else yield `${what}. ${commandLine('tidemark', 'watch', workflow, ...atWords(options))} follows it.`;
  for (const { task, operation, status } of begun) {
    const handling =
      base.effects === 'live' ? 'it is called again, under a key of its own' : 'what was recorded answers it';
    const was = status === 'intended' ? 'under way' : status;
    yield `${printable(operation)} of task ${task} was ${was} there; the task begins again, and ${handling}.`;
  }
}

export function compare(session: Session, workflow: string, other: string, options: PlaceOptions): Promise<number> {
  const { terminal } = session;
  return atPlace(session, { ...options, how: 'read' }, async ({ client }) => {
    const params = { workflow, other };
    const comparison = await client.ask('GET /v1/workflows/{workflow}/comparison/{other}', { params });
    terminal.answer(comparison);
    if (!terminal.json) terminal.lines(comparisonLines(comparison, terminal));
    return EXIT.ok;
  });
}
