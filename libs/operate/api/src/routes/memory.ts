/** Owns the routes about what is known of a user: facts, standing preferences, and finding what fits a query among all that is remembered. */

import { DEFAULT_TENANT, InvalidError, isoTime, type Json } from '@tidemark/core';
import { buildContinuationContext, userSubject } from '@tidemark/memory';
import { summaryIn } from '@tidemark/runtime';
import { z } from 'zod';
import { type Backend, tenantFor, tenantToChange } from '../backend.ts';
import { MEMORIES_DEFAULT_COUNT, MEMORIES_MAX_COUNT } from '../limits.ts';
import { content } from '../redaction.ts';
import { type Asked, type Call, ok, route } from '../route.ts';
import { givenJson, jsonSchema, nameSchema, timeSchema } from '../schemas/common.ts';
import { reported, whose } from '../whose.ts';

const userParams = z.object({ user: nameSchema });
const entryParams = userParams.extend({ key: nameSchema });

const ofUser = {
  chapter: 'Memory',
  params: userParams,
  query: whose,
  reports: (asked: Asked) => reported(asked.params.user, asked),
} as const;

const reading = { ...ofUser, method: 'GET', right: 'content' } as const;
const writing = { ...ofUser, right: 'operate' } as const;
const ENTRY_CHANGED = { 200: z.object({ user: z.string(), key: z.string() }).meta({ id: 'MemoryChanged' }) };

const kindSchema = z.enum(['summary', 'fact', 'state', 'record']);
const source = nameSchema.optional().meta({ description: 'Where it is from; by default who asks.' });
const dated = { key: z.string(), source: z.string(), at: timeSchema } as const;
const factSchema = z.object({ ...dated, text: content(z.string()) }).meta({ id: 'Fact' });
const preferenceSchema = z.object({ ...dated, value: content(jsonSchema) }).meta({ id: 'Preference' });

type OfUser = Pick<Call<z.output<typeof userParams>, z.output<typeof whose>, 0>, 'params' | 'query' | 'principal'>;

const tenantOf = ({ principal, query }: OfUser) => tenantFor(principal, query.tenant, DEFAULT_TENANT);
const tenantOfChange = ({ principal, query }: OfUser) => tenantToChange(principal, query.tenant, DEFAULT_TENANT);

export const recallMemories = route({
  ...reading,
  // A question is content, and addresses are written to logs on the way.
  method: 'POST',
  path: '/v1/users/{user}/recall',
  name: 'recall',
  summary: 'What is remembered of a user that fits a query',
  description:
    'The best first: summaries of sessions, or the kinds that are named, by words and, where an embedder is configured, by meaning.',
  problems: ['tenant-unknown'],
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
        warning: z.string().nullable().meta({ description: 'Why words decided alone although there is an embedder.' }),
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
          description: 'The summaries among them as a text to go on with; empty: there are none.',
        }),
      })
      .meta({ id: 'Recall' }),
  },
  async handle(call) {
    const { params, body, backend } = call;
    const request = { user: params.user, ...body };
    const { by, warning, entries } = await backend.client.memory.recall(tenantOf(call), request);
    const summaries = entries.flatMap(({ memory }) => (memory.kind === 'summary' ? summaryIn(memory) : []));
    return ok({
      by,
      warning: warning?.message ?? null,
      entries: entries.map(({ memory, score }) => ({
        ...{ kind: memory.kind, key: memory.key, source: memory.source, at: isoTime(memory.atMs) },
        score,
        value: JSON.parse(memory.value),
      })),
      continuation: buildContinuationContext(summaries),
    });
  },
});

export const listFacts = route({
  ...reading,
  path: '/v1/users/{user}/facts',
  name: 'listFacts',
  summary: 'The facts about a user, the newest first',
  problems: ['tenant-unknown'],
  query: whose.extend({
    limit: z.coerce.number().int().min(1).max(MEMORIES_MAX_COUNT).default(MEMORIES_DEFAULT_COUNT),
  }),
  answers: { 200: z.object({ facts: z.array(factSchema) }) },
  async handle(call) {
    const { params, query, backend } = call;
    const facts = await backend.client.memory.userFacts(tenantOf(call), params.user).list(query.limit);
    return ok({ facts: facts.map(({ atMs, ...fact }) => ({ ...fact, at: isoTime(atMs) })) });
  },
});

export const rememberFact = route({
  ...writing,
  method: 'POST',
  path: '/v1/users/{user}/facts',
  name: 'rememberFact',
  summary: 'Remember a fact about a user',
  description: 'The same text is the same fact: it may be repeated. Answered once it is found again.',
  problems: ['tenant-unknown', 'tenant-invalid', 'fact-text', 'memory-secret'],
  body: z.strictObject({ text: z.string().min(1).max(4_000), source }).meta({ id: 'NewFact' }),
  answers: ENTRY_CHANGED,
  async handle(call) {
    const { params, body, principal, backend } = call;
    const facts = backend.client.memory.userFacts(tenantOfChange(call), params.user);
    const key = await facts.remember(body.text, { source: body.source ?? principal.subject });
    return ok({ user: params.user, key });
  },
});

export const forgetFact = route({
  ...writing,
  method: 'DELETE',
  path: '/v1/users/{user}/facts/{key}',
  name: 'forgetFact',
  summary: 'Forget a fact about a user',
  problems: ['tenant-unknown', 'tenant-invalid', 'fact-unknown'],
  params: entryParams,
  answers: ENTRY_CHANGED,
  async handle(call) {
    const { params, backend } = call;
    const { user, key } = params;
    const tenant = tenantOfChange(call);
    if ((await entryOf(backend, { tenant, user, key, kind: 'fact' })) === undefined) {
      throw new InvalidError('fact-unknown', `key: no fact about '${user}' has the key '${key}'.`);
    }
    await backend.client.memory.userFacts(tenant, user).forget(key);
    return ok({ user, key });
  },
});

export const listPreferences = route({
  ...reading,
  path: '/v1/users/{user}/preferences',
  name: 'listPreferences',
  summary: 'The standing preferences of a user, by key',
  description: `At most ${MEMORIES_MAX_COUNT}.`,
  problems: ['tenant-unknown'],
  query: whose.extend({ prefix: nameSchema.optional().meta({ description: 'Those whose keys begin so.' }) }),
  answers: { 200: z.object({ preferences: z.array(preferenceSchema) }) },
  async handle(call) {
    const { params, query, backend } = call;
    const found = await backend.client.memory.userState(tenantOf(call), params.user).list(query.prefix);
    return ok({ preferences: found.map(({ key, value, source: of, atMs }) => preferenceJson(key, value, of, atMs)) });
  },
});

export const getPreference = route({
  ...reading,
  path: '/v1/users/{user}/preferences/{key}',
  name: 'getPreference',
  summary: 'A standing preference of a user',
  problems: ['tenant-unknown', 'state-key-unknown'],
  params: entryParams,
  answers: { 200: preferenceSchema },
  async handle(call) {
    const { params, backend } = call;
    const row = await entryOf(backend, { tenant: tenantOf(call), ...params, kind: 'state' });
    if (row === undefined) throw unknownPreference(params);
    return ok(preferenceJson(row.key, JSON.parse(row.value), row.source, row.atMs));
  },
});

export const setPreference = route({
  ...writing,
  method: 'PUT',
  path: '/v1/users/{user}/preferences/{key}',
  name: 'setPreference',
  summary: 'Set a standing preference of a user',
  description: 'A small JSON value, in force until it is changed or forgotten. Answered once it is found again.',
  problems: ['tenant-unknown', 'tenant-invalid', 'state-value', 'memory-secret'],
  params: entryParams,
  body: z.strictObject({ value: givenJson, source }).meta({ id: 'NewPreference' }),
  answers: ENTRY_CHANGED,
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
  name: 'forgetPreference',
  summary: 'Forget a standing preference of a user',
  problems: ['tenant-unknown', 'tenant-invalid', 'state-key-unknown'],
  params: entryParams,
  answers: ENTRY_CHANGED,
  async handle(call) {
    const { params, backend } = call;
    const tenant = tenantOfChange(call);
    if ((await entryOf(backend, { tenant, ...params, kind: 'state' })) === undefined) throw unknownPreference(params);
    await backend.client.memory.userState(tenant, params.user).forget(params.key);
    return ok({ user: params.user, key: params.key });
  },
});

const preferenceJson = (key: string, value: unknown, of: string, atMs: number) => ({
  ...{ key, value: value as Json, source: of },
  at: isoTime(atMs),
});

interface EntryName extends z.output<typeof entryParams> {
  readonly tenant: ReturnType<typeof tenantOf>;
  readonly kind: 'fact' | 'state';
}

async function entryOf(backend: Backend, { tenant, user, kind, key }: EntryName) {
  const [row] = await backend.client.memory.memories(tenant, { subject: userSubject(user), kind, key, limit: 1 });
  return row;
}

const unknownPreference = ({ user, key }: z.output<typeof entryParams>): InvalidError =>
  new InvalidError('state-key-unknown', `key: '${user}' has no preference '${key}'.`);
