/** Owns the tools for long-term memory: recall of sessions and facts, facts about users, domains and the tenant, and standing preferences. */

import type { Answer } from '@tidemark/client';
import { z } from 'zod';
import { aboutField, aboutOf, aboutToChange, nameField, orNull, sourceOf, userField, userOf } from './fields.ts';
import { TEXT_MAX_CHARS } from './limits.ts';
import { ADDS_ONCE, defineTool, READS, REPLACES, type Tool } from './tool.ts';

/** Characters of the question of a recall that are used. */
const QUERY_MAX_CHARS = 2_000;
/** Entries of a recall and a list: by default, and at most. */
const RECALL_DEFAULT_COUNT = 3;
const RECALL_MAX_COUNT = 20;
const LIST_DEFAULT_COUNT = 50;
const LIST_MAX_COUNT = 1_000;

const source = nameField.optional().describe('Where it is from; default: the client');
const key = nameField.describe('Name of the preference');
/** A caller without the right to content gets no words. */
const entry = z.object({ key: z.string(), value: z.unknown().optional(), source: z.string(), at: z.string() });
const fact = z.object({ key: z.string(), text: z.string().optional(), source: z.string(), at: z.string() });

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
  const head = entries.length === 0 ? `Nothing fits (${how}).` : `${entries.length} found (${how}).`;
  const facts = entries.filter(({ kind }) => kind === 'fact').map(factLine);
  return [head, ...(warning === null ? [] : [warning]), ...facts, ...(continuation === '' ? [] : [continuation])].join(
    '\n',
  );
}

function factLine({ value, source: from, at }: Recalled['entries'][number]): string {
  const text = (value as { readonly text?: string } | undefined)?.text ?? NOT_SHOWN;
  return `- ${text} (${from}, ${at.slice(0, 'YYYY-MM-DD'.length)})`;
}

const remember = defineTool({
  name: 'remember',
  title: 'Remember a fact about a user, a domain or the tenant',
  description:
    'Remembers one fact, a sentence that later sessions should know. The same text is the same fact. Secrets are refused.',
  input: z.strictObject({
    text: z.string().trim().min(1).max(TEXT_MAX_CHARS),
    user: userField,
    about: aboutField,
    source,
  }),
  output: z.object({ key: z.string() }),
  hints: ADDS_ONCE,
  async run({ text, user, about, source: from }, context) {
    const of = aboutToChange(context, { user, about });
    const input = {
      params: { about: of },
      query: { tenant: context.tenant },
      body: { text, source: sourceOf(context, from) },
    };
    const made = await context.withMemory('write', (client) => client.ask('POST /v1/memory/{about}/facts', input));
    return { data: { key: made.key }, text: `Remembered of ${of}, as ${made.key}.` };
  },
});

const facts = defineTool({
  name: 'facts',
  title: 'List the facts about a user, a domain or the tenant',
  description: 'Lists the facts that are remembered, the newest first.',
  input: z.strictObject({
    user: userField,
    about: aboutField,
    limit: z.int().min(1).max(LIST_MAX_COUNT).default(LIST_DEFAULT_COUNT),
  }),
  output: z.object({ facts: z.array(fact) }),
  hints: READS,
  async run({ user, about, limit }, context) {
    const of = aboutOf(context, { user, about });
    const found = await context.withMemory('read', (client) =>
      client.ask('GET /v1/memory/{about}/facts', { params: { about: of }, query: { tenant: context.tenant, limit } }),
    );
    const lines = found.facts.map(
      ({ key: name, text = NOT_SHOWN, source: from, at }) => `- ${text} (${from}, ${at}; key ${name})`,
    );
    return { data: { ...found }, text: lines.length === 0 ? `No facts are known about ${of}.` : lines.join('\n') };
  },
});

const forgetFact = defineTool({
  name: 'forget_fact',
  title: 'Forget a fact',
  description: 'Forgets one fact about a user, a domain or the tenant, by its key (of remember or facts).',
  input: z.strictObject({ key: nameField.describe('Key of the fact'), user: userField, about: aboutField }),
  output: z.object({ key: z.string() }),
  hints: REPLACES,
  async run({ key: name, user, about }, context) {
    const of = aboutToChange(context, { user, about });
    const input = { params: { about: of, key: name }, query: { tenant: context.tenant } };
    await context.withMemory('write', (client) => client.ask('DELETE /v1/memory/{about}/facts/{key}', input));
    return { data: { key: name }, text: `Forgot ${name} of ${of}.` };
  },
});

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

const set = defineTool({
  name: 'user_state_set',
  title: 'Set a preference of a user',
  description:
    'Sets a standing preference of a user (language, tone, time zone …): a small JSON value, in force until it is changed or forgotten. Secrets are refused.',
  input: z.strictObject({ key, value: z.json(), user: userField, source }),
  output: z.object({ key: z.string(), value: z.unknown() }),
  hints: REPLACES,
  async run({ key: name, value, user, source: from }, context) {
    const of = userOf(context, user);
    const body = { value, source: sourceOf(context, from) };
    const input = { params: { user: of, key: name }, query: { tenant: context.tenant }, body };
    await context.withMemory('write', (client) =>
      client.ask('PUT /v1/users/{user}/preferences/{key}', input, { isRepeatable: true }),
    );
    return { data: { key: name, value }, text: `${name} of ${of} is ${JSON.stringify(value)} now.` };
  },
});

const list = defineTool({
  name: 'user_state_list',
  title: 'List the preferences of a user',
  description: 'Lists the standing preferences of a user by key, or those whose keys begin with `prefix`.',
  input: z.strictObject({ prefix: z.string().max(200).default(''), user: userField }),
  output: z.object({ entries: z.array(entry) }),
  hints: READS,
  async run({ prefix, user }, context) {
    const of = userOf(context, user);
    const query = { tenant: context.tenant, prefix: prefix === '' ? undefined : prefix };
    const { preferences: entries } = await context.withMemory('read', (client) =>
      client.ask('GET /v1/users/{user}/preferences', { params: { user: of }, query }),
    );
    const lines = entries.map(({ key: name, value }) => `${name}: ${JSON.stringify(value)}`);
    return { data: { entries }, text: lines.length === 0 ? `${of} has no preferences.` : lines.join('\n') };
  },
});

const forget = defineTool({
  name: 'user_state_forget',
  title: 'Forget a preference of a user',
  description: 'Forgets one standing preference of a user.',
  input: z.strictObject({ key, user: userField }),
  output: z.object({ key: z.string() }),
  hints: REPLACES,
  async run({ key: name, user }, context) {
    const of = userOf(context, user);
    const input = { params: { user: of, key: name }, query: { tenant: context.tenant } };
    await context.withMemory('write', (client) => client.ask('DELETE /v1/users/{user}/preferences/{key}', input));
    return { data: { key: name }, text: `Forgot ${name} of ${of}.` };
  },
});

export const MEMORY_TOOLS: readonly Tool[] = [recall, remember, facts, forgetFact, get, set, list, forget];
