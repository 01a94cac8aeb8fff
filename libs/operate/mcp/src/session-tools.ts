/** Owns the tools for sessions: reading what is needed to continue one, continuing it, and handing it over. */

import type { Client } from '@tidemark/client';
import { InvalidError } from '@tidemark/core';
import { z } from 'zod';
import { nameField, orNull, sessionField } from './fields.ts';
import { ARTIFACTS_MAX_COUNT, NAME_MAX_CHARS, TEXT_MAX_CHARS } from './limits.ts';
import { fittingSession, type Session, sessionText } from './session-text.ts';
import { ADDS, defineTool, READS, RUNS, type Tool, type ToolContext } from './tool.ts';

const task = z.looseObject({
  task: z.string(),
  step: z.string(),
  state: z.enum(['ready', 'blocked']),
  why: z.string().nullable().describe('What it is blocked on; null when it may run'),
});

const workflow = z.looseObject({
  workflow: z.string(),
  definition: z.string(),
  status: z.string(),
  goal: z.array(z.string()),
  constraints: z.array(z.string()),
  summary: z.string().nullable(),
  checkpoint_note: z.string().nullable(),
  last_action: z.string(),
  belief: z.unknown(),
  frontier: z.array(task),
  pending_task_count: z.number(),
  next_task: z.string().nullable(),
  waits_for: z
    .looseObject({ kind: z.string(), text: z.string(), ends_by: z.string(), is_there: z.boolean().nullable() })
    .nullable()
    .describe('Why it does not move'),
  question: z
    .looseObject({ code: z.string(), message: z.string(), resolutions: z.array(z.string()) })
    .nullable()
    .describe('Set while it waits for a person'),
});

const handover = z.looseObject({
  from: z.string(),
  to: z.string(),
  message: z.string(),
  artifacts: z.array(z.string()),
  at: z.string(),
});

const sessionOutput = z.looseObject({
  session: z.string(),
  user: z.string().nullable(),
  is_live: z.boolean(),
  workflow: workflow.nullable(),
  earlier: z.array(z.looseObject({ workflow: z.string(), status: z.string() })),
  handovers: z.array(handover).optional(),
  summaries: z.array(z.looseObject({ task_description: z.string() })).optional(),
});

const resume = defineTool({
  name: 'session_resume',
  title: 'Read a session, to continue it',
  description:
    'Gives everything needed to continue a session: its live workflow, status, goal, constraints, belief, last action, pending tasks and what each is blocked on, the question if it waits for a person, summaries, and hand-overs (newest first). Changes nothing.',
  input: z.strictObject({ session: sessionField }),
  output: sessionOutput,
  hints: READS,
  async run({ session }, context) {
    const found = await context.withMemory('read', (client) => sessionOf(client, session, context));
    if (found === null || isOthers(context, found)) throw unknownSession(session);
    return { data: { ...fittingSession(found) }, text: sessionText(found) };
  },
});

const advance = defineTool({
  name: 'session_continue',
  title: 'Resume a session, or start its next workflow',
  description:
    'Gives the live workflow of a session, or, where all of its workflows have ended, starts the next one (of the same definition, with the same input, unless others are given), which sees what was said and remembered. Returns its id and, as session_resume does, its state.',
  input: z.strictObject({
    session: sessionField,
    definition: nameField.optional().describe('What is started; default: the definition of the newest workflow'),
    input: z.unknown().optional().describe('What it is started with; default: the input of the newest workflow'),
  }),
  output: z.looseObject({ workflow: z.string(), created: z.boolean(), session: sessionOutput }),
  hints: RUNS,
  async run({ session, definition, input }, context) {
    const body = { ...(definition !== undefined && { definition }), ...(input !== undefined && { input }) };
    const known = await context.withMemory('read', (client) => sessionOf(client, session, context));
    if (known === null || isOthers(context, known)) throw unknownSession(session);
    // Not repeated without an answer: the started workflow may have ended meanwhile, and the next would start.
    const resumed = await context.withMemory('write', (client) => {
      const request = { params: { session }, query: { tenant: context.tenant }, body };
      return orNull('session-unknown', client.ask('POST /v1/sessions/{session}/resume', request));
    });
    if (resumed === null) throw unknownSession(session);
    const { workflow, created } = resumed;
    return {
      data: { workflow, created, session: { ...fittingSession(resumed.session) } },
      text: `${created ? 'Started' : 'Live'}: ${workflow}\n${sessionText(resumed.session)}`,
    };
  },
});

/** Null: the session is unknown. */
const sessionOf = (client: Client, session: string, context: ToolContext): Promise<Session | null> =>
  orNull(
    'session-unknown',
    client.ask('GET /v1/sessions/{session}', { params: { session }, query: { tenant: context.tenant } }),
  );

/** Where the server serves one user, a session of another counts as missing. */
const isOthers = ({ user }: ToolContext, found: Session): boolean =>
  user !== undefined && found.user !== null && found.user !== user;

const unknownSession = (session: string): InvalidError =>
  new InvalidError('session-unknown', `session: nothing is known of '${session}'.`, { field: 'session' });

const handOver = defineTool({
  name: 'session_handover',
  title: 'Hand a session over',
  description:
    'Says who continues a session and what they need to know: another agent or a person. session_resume and the next workflow of the session show it to them.',
  input: z.strictObject({
    session: sessionField,
    to: nameField.describe('Who continues'),
    message: z
      .string()
      .trim()
      .min(1)
      .max(TEXT_MAX_CHARS)
      .describe('What they need to know: what is done, what is open'),
    from: nameField.optional().describe('Who hands over; default: the client'),
    artifacts: z.array(z.string().min(1).max(NAME_MAX_CHARS)).max(ARTIFACTS_MAX_COUNT).default([]),
  }),
  output: z.object({ session: z.string(), from: z.string(), to: z.string(), is_known: z.boolean() }),
  hints: ADDS,
  async run({ session, to, message, artifacts, from }, context) {
    const giver = from ?? context.agent() ?? 'assistant';
    const input = {
      params: { session },
      query: { tenant: context.tenant },
      body: { from: giver, to, message, artifacts },
    };
    const { is_known: isKnown } = await context.withMemory('write', async (client) => {
      const known = context.user === undefined ? null : await sessionOf(client, session, context);
      if (known !== null && isOthers(context, known)) throw unknownSession(session);
      return client.ask('POST /v1/sessions/{session}/handovers', input);
    });
    const then = isKnown ? '' : ' No workflow of this session was started yet: the first one will see it.';
    return {
      data: { session, from: giver, to, is_known: isKnown },
      text: `Session ${session} is handed over from ${giver} to ${to}.${then}`,
    };
  },
});

export const SESSION_TOOLS: readonly Tool[] = [resume, advance, handOver];
