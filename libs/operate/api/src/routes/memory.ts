/** Owns the routes of long-term memory: facts about users, domains and a tenant, standing preferences, and finding what fits a query. */

import { keepValue, parseContent } from '@tidemark/codec';
import { DEFAULT_TENANT, InvalidError, isoTime, type Json, type TenantId } from '@tidemark/core';
import { buildContinuationContext, tenantSubject, userSubject } from '@tidemark/memory';
import { summaryIn } from '@tidemark/runtime';
import { z } from 'zod';
import { type Backend, tenantFor, tenantToChange } from '../backend.ts';
import { content } from '../redaction.ts';
import { type Call, ok, type RequestParts, route } from '../route.ts';
import { givenJson, jsonSchema, nameSchema, timeSchema } from '../schemas/common.ts';
import { reported, whose } from '../whose.ts';

/** Facts, and preferences, in one answer at most; facts by default. */
const MEMORIES_MAX_COUNT = 1_000;
const MEMORIES_DEFAULT_COUNT = 50;

const userParams = z.object({ user: nameSchema });
const entryParams = userParams.extend({ key: nameSchema });

const ofUser = {
  params: userParams,
  query: whose,
  reports: (asked: RequestParts) => reported(asked.params.user, asked),
} as const;

/** The subject of the memory. */
const aboutSchema = nameSchema
  .regex(/^(?:(?:user|domain):.|tenant$)/su, "say 'user:NAME', 'domain:NAME' or 'tenant'")
  .meta({
    format: 'subject',
    description: 'Whom or what it is about: `user:NAME`, `domain:NAME`, or `tenant` for what holds for everybody.',
  });
const aboutParams = z.object({ about: aboutSchema });

const ofSubject = {
  params: aboutParams,
  query: whose,
  reports: (asked: RequestParts) => reported(asked.params.about, asked),
} as const;
const subjectOf = (about: string, tenant: TenantId): string => (about === 'tenant' ? tenantSubject(tenant) : about);

const reading = { ...ofUser, method: 'GET', right: 'content' } as const;
const writing = { ...ofUser, right: 'operate' } as const;
const ENTRY_CHANGED = { 200: z.object({ user: z.string(), key: z.string() }).meta({ id: 'PreferenceChanged' }) };
const FACT_CHANGED = { 200: z.object({ about: z.string(), key: z.string() }).meta({ id: 'FactChanged' }) };

const kindSchema = z.enum(['summary', 'fact', 'state', 'record']);
const source = nameSchema.optional().meta({ description: 'Its source; by default the caller.' });
const dated = { key: z.string(), source: z.string(), at: timeSchema } as const;
const factSchema = z.object({ ...dated, text: content(z.string()) }).meta({ id: 'Fact' });
const preferenceSchema = z.object({ ...dated, value: content(jsonSchema) }).meta({ id: 'Preference' });

type OfTenant = Pick<Call<unknown, z.output<typeof whose>, 0>, 'query' | 'principal'>;

const tenantOf = ({ principal, query }: OfTenant) => tenantFor(principal, query.tenant, DEFAULT_TENANT);
const tenantOfChange = ({ principal, query }: OfTenant) => tenantToChange(principal, query.tenant, DEFAULT_TENANT);

export const recall = route({
  ...ofSubject,
  right: 'content',
  // A question is content, and proxies log addresses.
  method: 'POST',
  path: '/v1/memory/{about}/recall',
  summary: 'Recall memories by a query',
  description:
    'The best first: summaries of sessions, or the kinds that are named, by words and, where an embedder is set up, by meaning.',
  body: z
    .strictObject({
      query: z.string().min(1).max(2_000),
      limit: z.int().min(1).max(50).default(3),
      kinds: z.array(kindSchema).min(1).max(4).default(['summary']).meta({ description: 'Of any of these.' }),
    })
    .meta({ id: 'AskRecall' }),
  answers: {
    200: z
      .object({
        by: z.enum(['words', 'words+meaning']),
        warning: z.string().nullable().meta({ description: 'Why only words were searched, or nothing could be.' }),
        entries: z.array(
          z.object({
            kind: z.string(),
            key: z.string(),
            score: z.number().meta({ description: 'From 0 to 1; comparable within one answer.' }),
            at: timeSchema,
            source: z.string(),
            value: content(jsonSchema),
          }),
        ),
        continuation: content(z.string()).meta({
          description: 'The summaries among them as one text for a prompt; empty: there are none.',
        }),
      })
      .meta({ id: 'Recall' }),
  },
  async handle(call) {
    const { params, body, backend } = call;
    const tenant = tenantOf(call);
    const request = { ...body, subjects: [subjectOf(params.about, tenant)] };
    const { by, warning, entries } = await backend.client.memory.recall(tenant, request);
    const summaries = entries.flatMap(({ memory }) => (memory.kind === 'summary' ? summaryIn(memory) : []));
    return ok({
      by,
      warning: warning?.message ?? null,
      entries: entries.map(({ memory, score }) => ({
        ...{ kind: memory.kind, key: memory.key, source: memory.source, at: isoTime(memory.atMs) },
        score,
        value: parseContent(memory.value),
      })),
      continuation: buildContinuationContext(summaries),
    });
  },
});

export const listFacts = route({
  ...ofSubject,
  method: 'GET',
  right: 'content',
  path: '/v1/memory/{about}/facts',
  summary: 'The facts about a user, a domain or the tenant, the newest first',
  query: whose.extend({
    limit: z.coerce.number().int().min(1).max(MEMORIES_MAX_COUNT).default(MEMORIES_DEFAULT_COUNT),
  }),
  answers: { 200: z.object({ facts: z.array(factSchema) }) },
  edges: {
    commands: [
      {
        name: 'memory list',
        about: 'list facts, newest first',
        options: { about: '', tenant: 'whose it is (default: default)', limit: 'at most this many (default: 50)' },
        rows: {
          of: 'facts',
          none: 'No facts are known about {about}.',
          columns: [
            ['FACT', '{text}', 16],
            ['SOURCE', '{source}', 6],
            ['SINCE', '{at}'],
            ['KEY', '{key}'],
          ],
        },
      },
    ],
    tools: [
      {
        name: 'facts',
        title: 'List the facts about a user, a domain or the tenant',
        about: 'Lists the facts that are remembered, the newest first.',
        hints: 'reads',
        takes: ['about', 'limit'],
        says: [['facts', ''], 'No facts are known about {about}.'],
        each: ['facts', '- {text|(not shown to you)} ({source}, {at}; key {key})'],
      },
    ],
  },
  async handle(call) {
    const { params, query, backend } = call;
    const tenant = tenantOf(call);
    const facts = await backend.client.memory.facts(tenant, subjectOf(params.about, tenant)).list(query.limit);
    return ok({ facts: facts.map(({ atMs, ...fact }) => ({ ...fact, at: isoTime(atMs) })) });
  },
});

export const rememberFact = route({
  ...ofSubject,
  right: 'operate',
  method: 'POST',
  path: '/v1/memory/{about}/facts',
  summary: 'Remember a fact about a user, a domain or the tenant',
  description: 'The same text is the same fact: it may be repeated. Answered once it can be found.',
  problems: ['tenant-invalid', 'fact-text', 'memory-secret'],
  body: z.strictObject({ text: z.string().min(1).max(4_000), source }).meta({ id: 'NewFact' }),
  answers: FACT_CHANGED,
  edges: {
    commands: [
      {
        name: 'memory remember',
        about: 'remember a fact; the same text is the same fact',
        creates: true,
        takes: { text: ['<text>', 'the fact, a sentence'] },
        options: {
          about: '',
          tenant: 'whose it is (default: default)',
          source: 'where it is from (default: who you are)',
        },
        says: 'Remembered of {about}, as {key}.',
      },
    ],
    tools: [
      {
        name: 'remember',
        title: 'Remember a fact about a user, a domain or the tenant',
        about:
          'Remembers one fact, a sentence that later sessions should know. The same text is the same fact. Secrets are refused.',
        hints: 'adds-once',
        takes: ['text', 'about', 'source'],
        says: 'Remembered of {about}, as {key}.',
      },
    ],
  },
  async handle(call) {
    const { params, body, principal, backend } = call;
    const tenant = tenantOfChange(call);
    const facts = backend.client.memory.facts(tenant, subjectOf(params.about, tenant));
    const key = await facts.remember(body.text, { source: body.source ?? principal.subject });
    return ok({ about: params.about, key });
  },
});

export const forgetFact = route({
  ...ofSubject,
  right: 'operate',
  method: 'DELETE',
  path: '/v1/memory/{about}/facts/{key}',
  summary: 'Forget a fact',
  problems: ['tenant-invalid', 'fact-unknown'],
  params: aboutParams.extend({ key: nameSchema }),
  answers: FACT_CHANGED,
  edges: {
    commands: [
      {
        name: 'memory forget',
        about: 'forget a fact',
        takes: { key: ['<key>', 'its key, as list prints it'] },
        options: { about: '', tenant: 'whose it is (default: default)' },
        says: 'Forgot {key} of {about}.',
      },
    ],
    tools: [
      {
        name: 'forget_fact',
        title: 'Forget a fact',
        about: 'Forgets one fact about a user, a domain or the tenant, by its key (of remember or facts).',
        hints: 'replaces',
        takes: ['key', 'about'],
        says: 'Forgot {key} of {about}.',
      },
    ],
  },
  async handle(call) {
    const { params, backend } = call;
    const { about, key } = params;
    const tenant = tenantOfChange(call);
    const subject = subjectOf(about, tenant);
    const [known] = await backend.client.memory.memories(tenant, { subject, kind: 'fact', key, limit: 1 });
    if (known === undefined)
      throw new InvalidError('fact-unknown', `key: no fact about '${about}' has the key '${key}'.`);
    await backend.client.memory.facts(tenant, subject).forget(key);
    return ok({ about, key });
  },
});

export const listPreferences = route({
  ...reading,
  path: '/v1/users/{user}/preferences',
  summary: 'The standing preferences of a user, by key',
  description: `At most ${MEMORIES_MAX_COUNT}.`,
  query: whose.extend({ prefix: nameSchema.optional().meta({ description: 'Those whose keys begin so.' }) }),
  answers: { 200: z.object({ preferences: z.array(preferenceSchema) }) },
  edges: {
    commands: [
      {
        name: 'user list',
        about: 'list the preferences',
        takes: { prefix: ['[prefix]', 'only keys that begin so'] },
        options: { user: 'whose memory', tenant: 'whose it is (default: default)' },
        rows: {
          of: 'preferences',
          none: [['prefix', "{user} has no preferences that begin with '{prefix}'."], '{user} has no preferences.'],
          columns: [
            ['KEY', '{key}'],
            ['VALUE', '{value|null}', 12],
            ['SOURCE', '{source}', 6],
            ['SINCE', '{at}'],
          ],
        },
      },
    ],
    tools: [
      {
        name: 'user_state_list',
        title: 'List the preferences of a user',
        about: 'Lists the standing preferences of a user by key, or those whose keys begin with `prefix`.',
        hints: 'reads',
        takes: ['user', 'prefix'],
        says: [
          ['preferences', ''],
          ['prefix', "{user} has no preferences that begin with '{prefix}'."],
          '{user} has no preferences.',
        ],
        each: ['preferences', '{key}: {value|null}'],
      },
    ],
  },
  async handle(call) {
    const { params, query, backend } = call;
    const found = await backend.client.memory.userState(tenantOf(call), params.user).list(query.prefix);
    return ok({ preferences: found.map(({ key, value, source: of, atMs }) => preferenceJson(key, value, of, atMs)) });
  },
});

export const getPreference = route({
  ...reading,
  path: '/v1/users/{user}/preferences/{key}',
  summary: 'A standing preference of a user',
  problems: ['state-key-unknown'],
  params: entryParams,
  answers: { 200: preferenceSchema },
  async handle(call) {
    const { params, backend } = call;
    const row = await preferenceOf(backend, tenantOf(call), params);
    if (row === undefined) throw unknownPreference(params);
    return ok(preferenceJson(row.key, JSON.parse(row.value), row.source, row.atMs));
  },
});

export const setPreference = route({
  ...writing,
  method: 'PUT',
  path: '/v1/users/{user}/preferences/{key}',
  summary: 'Set a standing preference of a user',
  description: 'A small JSON value, in force until it is changed or forgotten. Answered once it can be found.',
  problems: ['tenant-invalid', 'state-value', 'memory-secret'],
  params: entryParams,
  body: z.strictObject({ value: givenJson, source }).meta({ id: 'NewPreference' }),
  answers: ENTRY_CHANGED,
  edges: {
    tools: [
      {
        name: 'user_state_set',
        title: 'Set a preference of a user',
        about:
          'Sets a standing preference of a user (language, tone, time zone …): a small JSON value, in force until it is changed or forgotten. Secrets are refused.',
        hints: 'replaces',
        takes: ['user', 'key', 'value', 'source'],
        says: '{key} of {user} is {value|null} now.',
      },
    ],
  },
  async handle(call) {
    const { params, body, principal, backend } = call;
    const { user, key } = params;
    const state = backend.client.memory.userState(tenantOfChange(call), user);
    await state.set(key, body.value, { source: body.source ?? principal.subject });
    return ok({ user, key });
  },
});

export const forgetPreference = route({
  ...writing,
  method: 'DELETE',
  path: '/v1/users/{user}/preferences/{key}',
  summary: 'Forget a standing preference of a user',
  edges: {
    commands: [
      {
        name: 'user forget',
        about: 'forget a preference',
        takes: { key: ['<key>', 'its name'] },
        options: { user: 'whose memory', tenant: 'whose it is (default: default)' },
        says: 'Forgot {key} of {user}.',
      },
    ],
    tools: [
      {
        name: 'user_state_forget',
        title: 'Forget a preference of a user',
        about: 'Forgets one standing preference of a user.',
        hints: 'replaces',
        takes: ['user', 'key'],
        says: 'Forgot {key} of {user}.',
      },
    ],
  },
  problems: ['tenant-invalid', 'state-key-unknown'],
  params: entryParams,
  answers: ENTRY_CHANGED,
  async handle(call) {
    const { params, backend } = call;
    const tenant = tenantOfChange(call);
    if ((await preferenceOf(backend, tenant, params)) === undefined) throw unknownPreference(params);
    await backend.client.memory.userState(tenant, params.user).forget(params.key);
    return ok({ user: params.user, key: params.key });
  },
});

const preferenceJson = (key: string, value: unknown, of: string, atMs: number) => ({
  ...{ key, value: keepValue(value as Json), source: of },
  at: isoTime(atMs),
});

async function preferenceOf(backend: Backend, tenant: TenantId, { user, key }: z.output<typeof entryParams>) {
  const named = { subject: userSubject(user), kind: 'state', key, limit: 1 } as const;
  const [row] = await backend.client.memory.memories(tenant, named);
  return row;
}

const unknownPreference = ({ user, key }: z.output<typeof entryParams>): InvalidError =>
  new InvalidError('state-key-unknown', `key: '${user}' has no preference '${key}'.`);
