/** Owns the tools for long-term memory that do more than pass an operation on: recall, and reading what may be missing. */

import type { Answer } from '@tidemark/client';
import { z } from 'zod';
import { DECLARED_TOOLS } from './declared-tools.ts';
import { aboutField, aboutOf, nameField, orNull, userField, userOf } from './fields.ts';
import { TEXT_MAX_CHARS } from './limits.ts';
import { defineTool, READS, type Tool } from './tool.ts';

/** Characters of the question of a recall that are used. */
const QUERY_MAX_CHARS = 2_000;
/** Entries of a recall: by default, and at most. */
const RECALL_DEFAULT_COUNT = 3;
const RECALL_MAX_COUNT = 20;

const key = nameField.describe('Name of the preference');
/** A caller without the right to content gets no words. */
const entry = z.object({ key: z.string(), value: z.unknown().optional(), source: z.string(), at: z.string() });

const NOT_SHOWN = '(not shown to you)';

const RECALL = 'POST /v1/memory/{about}/recall';

const recall = defineTool({
  name: 'recall',
  title: 'Recall earlier sessions and facts',
  description:
    'Finds what earlier sessions of a user left (summaries with decisions, open questions and next steps) and facts about the user, a domain or the tenant, by words, and by meaning where the server has embeddings; says which.',
  input: z.strictObject({
    query: z.string().trim().min(1).max(TEXT_MAX_CHARS).describe('What it is about, in any words'),
    user: userField,
    about: aboutField,
    limit: z.int().min(1).max(RECALL_MAX_COUNT).default(RECALL_DEFAULT_COUNT),
    kinds: z
      .array(z.enum(['summary', 'fact']))
      .min(1)
      .default(['summary', 'fact']),
  }),
  output: z.object({
    by: z.enum(['words', 'words+meaning']),
    warning: z.string().nullable(),
    entries: z.array(
      z.object({
        kind: z.string(),
        key: z.string(),
        score: z.number(),
        at: z.string(),
        source: z.string(),
        value: z.unknown().optional(),
      }),
    ),
    continuation: z.string().optional().describe('The summaries as a text for a prompt'),
  }),
  hints: READS,
  async run({ query, limit, kinds, user, about }, context) {
    const of = aboutOf(context, { user, about });
    const request = {
      params: { about: of },
      query: { tenant: context.tenant },
      body: { query: query.slice(0, QUERY_MAX_CHARS).toWellFormed(), limit, kinds },
    };
    const answer = await context.withMemory('read', (client) => client.ask(RECALL, request, { isRepeatable: true }));
    return { data: { ...answer }, text: recallText(answer) };
  },
});

type Recalled = Answer<typeof RECALL>;

function recallText({ entries, by, warning, continuation = '' }: Recalled): string {
  const how = by === 'words' ? 'by words alone' : 'by words and meaning';
  const head = entries.length === 0 ? `Nothing matches (${how}).` : `${entries.length} found (${how}).`;
  const facts = entries.filter(({ kind }) => kind === 'fact').map(factLine);
  return [head, ...(warning === null ? [] : [warning]), ...facts, ...(continuation === '' ? [] : [continuation])].join(
    '\n',
  );
}

function factLine({ value, source: from, at }: Recalled['entries'][number]): string {
  const text = (value as { readonly text?: string } | undefined)?.text ?? NOT_SHOWN;
  return `- ${text} (${from}, ${at.slice(0, 'YYYY-MM-DD'.length)})`;
}

const get = defineTool({
  name: 'user_state_get',
  title: 'Read a preference of a user',
  description: 'Reads one standing preference of a user; `entry` is null where it is not set.',
  input: z.strictObject({ key, user: userField }),
  output: z.object({ entry: entry.nullable() }),
  hints: READS,
  async run({ key: name, user }, context) {
    const of = userOf(context, user);
    const input = { params: { user: of, key: name }, query: { tenant: context.tenant } };
    const found = await context.withMemory('read', (client) =>
      orNull('state-key-unknown', client.ask('GET /v1/users/{user}/preferences/{key}', input)),
    );
    const text = found === null ? `${of} has no preference ${name}.` : `${name}: ${JSON.stringify(found.value)}`;
    return { data: { entry: found }, text };
  },
});

export const MEMORY_TOOLS: readonly Tool[] = [recall, get, ...DECLARED_TOOLS];
