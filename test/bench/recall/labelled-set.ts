/**
 * Owns reading the labelled set: 240 session summaries of four users and the queries that should find them, written by hand for
 * this purpose. Throws when a label names a session that isn't there, or a fact that its session doesn't hold.
 */

import { readFileSync } from 'node:fs';
import type { SessionSummary } from '@tidemark/memory';

const USERS = ['ana', 'ben', 'chloe', 'dmitri'] as const;
export type LabelledUser = (typeof USERS)[number];

export interface LabelledSummary {
  readonly user: LabelledUser;
  readonly summary: SessionSummary;
}

export interface LabelledQuery {
  readonly user: LabelledUser;
  readonly query: string;
  /** Session ids; the first holds the needed fact. */
  readonly relevant: readonly string[];
  readonly fact: string;
}

export interface LabelledSet {
  /** By user, then by date. */
  readonly summaries: readonly LabelledSummary[];
  readonly queries: readonly LabelledQuery[];
}

export function readLabelledSet(): LabelledSet {
  const summaries = USERS.flatMap((user) => readSummaries(user));
  const queries = readLines('queries').map(readQuery);
  const texts = new Map(summaries.map(({ summary }) => [summary.session_id, JSON.stringify(summary)]));
  for (const { relevant, fact, user } of queries) {
    for (const id of relevant)
      if (!texts.has(id) || !id.startsWith(user)) throw new Error(`${user} has no session ${id}`);
    if (texts.get(relevant[0]!)?.includes(fact) !== true) throw new Error(`${relevant[0]} does not say: ${fact}`);
  }
  return { summaries, queries };
}

const readLines = (name: string): string[] =>
  readFileSync(new URL(`./${name}.txt`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

function readQuery(line: string): LabelledQuery {
  const [user = '', relevant = '', query = '', fact = ''] = line.split(' | ');
  return { user: user as LabelledUser, query, relevant: relevant.split(', '), fact };
}

/** Each part begins with its letter: `@id date`, then T(ask), D(ecision), W(ork), Q(uestion), N(ext step). */
function readSummaries(user: LabelledUser): LabelledSummary[] {
  const sessions: string[][] = [];
  for (const line of readLines(user)) {
    if (line.startsWith('@')) sessions.push([line.slice(1)]);
    else sessions.at(-1)?.push(line);
  }
  return sessions.map(([head = '', ...lines]) => {
    const [id = '', date = ''] = head.split(' ');
    const of = (letter: string): string[] =>
      lines.filter((line) => line.startsWith(`${letter}: `)).map((line) => line.slice(3));
    const summary = {
      session_id: id,
      task_description: of('T').join(' '),
      decisions_made: of('D'),
      work_completed: of('W'),
      open_questions: of('Q'),
      next_recommended_steps: of('N'),
      created_at: `${date}T16:00:00.000Z`,
    };
    return { user, summary };
  });
}
