/** Owns the routes about sessions: the state of one, resuming it, and handing it over. */

import { canonicalJson, maskSecrets } from '@tidemark/codec';
import {
  ConflictError,
  DEFAULT_TENANT,
  InvalidError,
  isClosed,
  type Json,
  resumedId,
  type StreamStatus,
  type TenantId,
  UnavailableError,
  workflowId,
} from '@tidemark/core';
import type { Principal, SessionWorkflow } from '@tidemark/ports';
import { continuedAs, sessionBrief } from '@tidemark/runtime';
import { z } from 'zod';
import { type Backend, tenantFor, tenantToChange } from '../backend.ts';
import { ok, type RequestParts, route } from '../route.ts';
import { givenJson, longTextSchema, nameSchema } from '../schemas/common.ts';
import { sessionSchema } from '../schemas/session.ts';
import { inputOf, isHistoryForgotten } from '../shapes/belief.ts';
import { waitsOf } from '../waits.ts';
import { reported, whose } from '../whose.ts';

/** Newest workflows of a session among which its live one is searched for. */
const SESSION_READ_COUNT = 50;

const sessionParams = z.object({ session: nameSchema });

const aboutSession = (request: RequestParts) => reported(request.params.session, request);

export const getSession = route({
  method: 'GET',
  path: '/v1/sessions/{session}',
  summary: 'State of a session',
  description:
    'Its live workflow (or the newest): what it believes, waits for and asks; summaries of those before it, and hand-overs. All that is needed to continue it.',
  right: 'content',
  problems: ['session-unknown'],
  params: sessionParams,
  query: whose,
  reports: aboutSession,
  answers: { 200: sessionSchema },
  async handle({ params, query, principal, backend }) {
    const tenant = tenantFor(principal, query.tenant, DEFAULT_TENANT);
    const brief = await briefOf(backend, tenant, params.session);
    if (brief === undefined) {
      throw new InvalidError('session-unknown', `No session is named '${params.session}'.`);
    }
    return ok(brief);
  },
});

async function briefOf(backend: Backend, tenant: TenantId, session: string) {
  const brief = await sessionBrief(backend.reads, tenant, session);
  if (brief === undefined || brief.workflow === null) return brief && { ...brief, workflow: null };
  const id = workflowId(brief.workflow.workflow);
  const waits_for = (await waitsOf(backend, [id], true)).get(id) ?? null;
  return { ...brief, workflow: { ...brief.workflow, waits_for } };
}

const resumeBody = z
  .strictObject({
    definition: nameSchema
      .optional()
      .meta({ description: 'Which definition is started; by default that of the newest workflow.' }),
    input: givenJson
      .optional()
      .meta({ description: 'What it is started with; by default the input of the newest workflow.' }),
  })
  .meta({ id: 'ResumeSession' });

const resumedSchema = z
  .object({
    workflow: z.string().meta({ description: 'The live workflow, or the one that was started.' }),
    created: z.boolean().meta({ description: 'True: this request started it.' }),
    session: sessionSchema,
  })
  .meta({ id: 'ResumedSession' });

export const resumeSession = route({
  method: 'POST',
  path: '/v1/sessions/{session}/resume',
  summary: 'Resume a session',
  description:
    'Answers the live workflow of the session; the body is not used then. Where all have ended, it starts the next one, for the same user, which sees what was said and remembered. Its id is derived from that of the newest workflow, so that of many requests at once one starts it and the others answer that one (`created` is false), whatever definition and input they named. A request that is sent again after that workflow has ended starts the one after it.',
  right: 'operate',
  problems: [
    'session-unknown',
    'session-input-missing',
    'definition-unknown',
    'workflow-differs',
    'workflow-starting',
    'tenant-invalid',
    'pool-full',
    'tenant-full',
    'fleet-full',
  ],
  params: sessionParams,
  query: whose,
  reports: (request) => {
    const { workflow, created } = (request.body ?? {}) as { readonly workflow?: string; readonly created?: boolean };
    return [...aboutSession(request), ...(created === true && workflow !== undefined ? [{ target: workflow }] : [])];
  },
  body: resumeBody,
  answers: { 200: resumedSchema, 201: resumedSchema },
  async handle({ params: { session }, query, body, principal, backend, traceparent }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const workflows = await backend.reads.session(tenant, session, SESSION_READ_COUNT);
    const newest = workflows[0];
    if (newest === undefined) {
      const message = `No workflow of a session '${session}' was started yet. Start one in it.`;
      throw new InvalidError('session-unknown', message);
    }
    const live = workflows.find(({ status }) => !isClosed({ status: status as StreamStatus }));
    const resumed =
      live === undefined
        ? await startNext({ backend, principal, tenant, session, newest, ...body, traceparent })
        : { workflow: live.workflow, created: false };
    // So that the answer about the session includes what was just started.
    await backend.find(principal, resumed.workflow);
    const answer = { ...resumed, session: (await briefOf(backend, tenant, session))! };
    return resumed.created ? { status: 201 as const, body: answer } : ok(answer);
  },
});

interface NextOf {
  readonly backend: Backend;
  readonly principal: Principal;
  readonly tenant: TenantId;
  readonly session: string;
  /** It has ended. */
  readonly newest: SessionWorkflow;
  readonly definition?: string | undefined;
  readonly input?: unknown;
  readonly traceparent: string | undefined;
}

/**
 * Starts the workflow of a session that follows its newest one. The id follows from the newest one's and its last checkpoint, which nobody
 * else knows, so two concurrent calls start the same workflow. Throws `InvalidError`, `ConflictError` (`workflow-differs`),
 * `UnavailableError` (`workflow-starting`: the newest continues as another that has not begun yet), and as `Client.start` does.
 */
async function startNext(of: NextOf): Promise<{ readonly workflow: string; readonly created: boolean }> {
  const { backend, principal, tenant, session, newest, traceparent: trace } = of;
  const row = await backend.find(principal, newest.workflow);
  const continued = continuedAs(row);
  if (continued !== undefined) {
    const message = `Session ${session} continues in workflow ${continued}, which has not begun yet. Try again.`;
    throw new UnavailableError('workflow-starting', message);
  }
  const definition = await backend.definitionNamed(of.definition ?? row.definition);
  const input = of.input === undefined ? await inputAgain(backend, newest, definition.name) : of.input;
  const from = canonicalJson([tenant, session, newest.workflow, row.checkpoint]);
  const id = resumedId(backend.ports.digest.sha256(from).slice(0, 32));
  const user = newest.user ?? undefined;
  try {
    const { created } = await backend.client.startDerived(definition, input, { id, tenant, session, user, trace });
    return { workflow: id, created };
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    // Another call was first, with a workflow of another id, or with another definition.
    const taken = error.code === 'session-busy' ? error.details.workflow : id;
    if (typeof taken === 'string' && (await isOfSession(of, taken))) return { workflow: taken, created: false };
    throw error;
  }
}

/** A workflow of another session does not count. Rows may not show yet what started a moment ago. */
const isOfSession = async ({ backend, tenant, session }: NextOf, workflow: string): Promise<boolean> => {
  const row = await backend.reads.workflow(workflowId(workflow));
  return row === undefined || (row.tenant === tenant && row.session === session);
};

/**
 * The input of the newest workflow. Its secret fields go to the same definition alone: another one might show them. Throws `InvalidError`
 * (`session-input-missing`).
 */
async function inputAgain({ reads, ports, client }: Backend, newest: SessionWorkflow, name: string): Promise<Json> {
  const { workflow, definition } = newest;
  const missing = (why: string): InvalidError =>
    new InvalidError('session-input-missing', `input: that of ${workflow} ${why}; give one.`, { field: 'input' });
  if (await isHistoryForgotten(reads, workflow)) throw missing('was forgotten');
  const input = await inputOf(ports.store, workflow);
  if (input === undefined) throw missing('is not known here');
  const masked = canonicalJson(maskSecrets(input));
  if (canonicalJson(input) === masked) return input;
  if (name !== definition) throw missing(`has secret fields, which are not passed on to ${name}`);
  const opened = await client.reveal(workflow, input);
  if (canonicalJson(opened) === masked) throw missing('has secret fields, which this process may not open');
  return opened;
}

export const handOver = route({
  method: 'POST',
  path: '/v1/sessions/{session}/handovers',
  summary: 'Hand a session over',
  description: 'Who continues and what they need to know; the next workflow of the session receives it.',
  right: 'operate',
  problems: ['handover-invalid', 'tenant-invalid'],
  params: sessionParams,
  query: whose,
  reports: aboutSession,
  body: z
    .strictObject({
      from: nameSchema,
      to: nameSchema,
      message: longTextSchema,
      artifacts: z.array(nameSchema).max(100).default([]),
    })
    .meta({ id: 'HandOver' }),
  answers: {
    200: z
      .object({
        session: z.string(),
        is_known: z.boolean().meta({ description: 'False: no workflow of it was started yet; the first receives it.' }),
      })
      .meta({ id: 'HandedOver' }),
  },
  async handle({ params: { session }, query, body, principal, backend }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const known = await backend.reads.search({ tenant, session, limit: 1 });
    await backend.client.memory.handOver(tenant, session, body);
    return ok({ session, is_known: known.length > 0 });
  },
});
