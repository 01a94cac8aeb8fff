/**
 * Owns running an operation for a caller who was let in, by any transport: it checks the input, records the action, and removes from the
 * answer what the caller may not see. Must not know HTTP.
 */

import assert from 'node:assert/strict';
import { takerOf } from '@tidemark/access/json-body';
import type { Reads } from '@tidemark/access/reads';
import { AccessError } from '@tidemark/core';
import { type AuditTrail, mayDo } from '@tidemark/ports';
import type { z } from 'zod';
import { audited } from './audited.ts';
import { invalidRequest, limitWords } from './problem.ts';
import { checkNumbers, checkQuery } from './query.ts';
import { hasContent, type Redaction, redactionOf, redactorOf, requestedRedaction } from './redaction.ts';
import { type AnyRoute, type Call, isRead, takes } from './route.ts';

/** The caller's input, unchecked. */
export type Given = Pick<
  Call<unknown, unknown, unknown>,
  'params' | 'query' | 'body' | 'principal' | 'traceparent' | 'signal'
>;

export type AnyCall = Call<unknown, unknown, unknown>;

export interface Reached {
  readonly status: number;
  readonly body: unknown;
  /** The JSON of the answer, without what the caller may not see. */
  readonly text: string;
}

export interface Answering {
  /** The memory for content that is read. */
  readonly reads: Reads;
  /** Told what the reading took of it, in bytes. */
  readonly onRead?: ((bytes: number) => void) | undefined;
  /** Records reads of content and every action; an action that can't be recorded isn't done. */
  readonly audit?: AuditTrail | undefined;
  /** Checks answers against their schemas; for tests. */
  readonly checksAnswers?: boolean | undefined;
}

export class Operation {
  readonly route: AnyRoute;
  readonly #mayShowContent: boolean;
  readonly #redactors: (status: number, redaction: Redaction) => ((value: unknown) => unknown) | undefined;

  constructor(route: AnyRoute) {
    this.route = route;
    this.#mayShowContent = Object.values(route.answers).some(hasContent);
    this.#redactors = redactorsOf(route);
  }

  /** Throws `InvalidError` (`request-invalid`) that names each wrong field. */
  ask(
    { params, query, body, principal, traceparent, signal }: Given,
    at: Pick<Call<0, 0, 0>, 'backend' | 'fleet'>,
  ): AnyCall {
    const { route } = this;
    const request = {
      params: parsed('path', route.params, params),
      query: parsed('query', route.query, query),
      body: parsed('body', route.body, body),
    };
    return {
      ...request,
      ...at,
      principal,
      traceparent,
      signal,
      redaction: requestedRedaction(redactionOf(principal), request.query),
    };
  }

  /** Throws as the operation does, and as `AuditTrail.admit`. */
  async answer(request: AnyCall, { audit, reads, onRead, checksAnswers }: Answering): Promise<Reached> {
    const { route } = this;
    const { principal, params, query, redaction, backend, signal } = request;
    const showsContent = this.#mayShowContent && redaction.content;
    const about = { route, principal, showsContent, params, query, tenantOf: backend.tenantOf };
    const isAnyRead = isRead(route);
    const readsContent = redaction.content || !isAnyRead;
    const call = { ...request, backend: backend.forCaller(readsContent) } as Call<never, never, never>;
    const work = async (): Promise<Reached> => {
      const reached = await route.handle(call);
      if (checksAnswers === true) checkAnswer(route.answers[reached.status]!, reached.body);
      return { ...reached, text: this.#text(request, reached) };
    };
    return audited(audit, about, async () => {
      refuseLacking(route, request);
      const reader = { whose: takerOf(principal.tenant), showsContent: readsContent, remedy: this.#remedy, onRead };
      return isAnyRead ? reads.read(reader, signal, work) : reads.act(reader, work);
    });
  }

  /** What the route takes that makes it read less. */
  get #remedy(): string {
    if (!isRead(this.route)) return 'Do it where less has to be read, such as at an earlier checkpoint.';
    const { query, params } = this.route;
    const ways = [
      ...(takes(query, 'limit') ? ['with fewer at once (limit)'] : []),
      ...(takes(query, 'content') ? ['without content (content=false)'] : []),
      ...(takes(params, 'workflow') ? ['by its checkpoints, one at a time (/checkpoints?limit=1)'] : []),
    ];
    return `Ask for it ${ways.length === 0 ? 'in smaller parts' : ways.join(', or ')}.`;
  }

  #text({ redaction }: AnyCall, { status, body }: Pick<Reached, 'status' | 'body'>): string {
    const redact = this.#redactors(status, redaction);
    return JSON.stringify(redact === undefined ? body : redact(body));
  }
}

/** Throws if the body doesn't fit, or has a member that the schema lacks: who may see everything receives the body as it is. */
function checkAnswer(schema: z.ZodType, body: unknown): void {
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  assert.deepStrictEqual(asJson(body), asJson(schema.parse(body)));
}

/** Throws `AccessError` (`right-missing`). */
function refuseLacking({ needs = [] }: AnyRoute, request: AnyCall): void {
  const { principal } = request;
  const lacking = needs.find(({ of, when }) => {
    const has = of === 'all-tenants' ? principal.tenant === null : mayDo(principal, of);
    return !has && when?.(request as Parameters<NonNullable<typeof when>>[0]) !== false;
  });
  if (lacking !== undefined) throw new AccessError('right-missing', lacking.why);
}

/** By the caller's redaction; each is built when it is first asked for. */
function redactorsOf({ answers }: AnyRoute) {
  const made = new Map<string, ReturnType<typeof redactorOf>>();
  return (status: number, redaction: Redaction) => {
    const name = nameOf(status, redaction);
    if (!made.has(name)) made.set(name, redactorOf(answers[status]!, redaction));
    return made.get(name);
  };
}

const nameOf = (status: number, { content, words, tokens }: Redaction): string =>
  `${status} ${content} ${words} ${tokens}`;

/** Throws `InvalidError` (`request-invalid`) that names each wrong field. */
export function parsed(part: string, schema: z.ZodType | undefined, value: unknown): unknown {
  if (part === 'query') checkQuery(schema, value);
  if (part !== 'body') checkNumbers(part, schema, value);
  if (schema === undefined) return undefined;
  const found = schema.safeParse(value ?? {}, { error: limitWords });
  if (found.success) return found.data;
  throw invalidRequest(part, found.error);
}
