/**
 * Owns what a route is: one declaration, from which come its validation, its answer, its part of the OpenAPI document, its line in the
 * reference and the client's types. Must not know Fastify.
 *
 * server.ts keeps R1 and R2 of access for all routes: a route names the right that it needs, and marks its content.
 */

import type { TenantId } from '@tidemark/core';
import type { Principal, Right } from '@tidemark/ports';
import { z } from 'zod';
import type { Backend } from './backend.ts';
import type { Edges } from './edges.ts';
import type { Fleet } from './fleet.ts';
import type { Redaction } from './redaction.ts';

type Shape = z.ZodType;
export type ParsedBy<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A request that was let in. */
export interface Call<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly principal: Principal;
  /** What the caller may see; the rest is removed from the answer. */
  readonly redaction: Redaction;
  readonly backend: Backend;
  readonly fleet: Fleet;
  /** The caller's W3C `traceparent`, unchecked. */
  readonly traceparent: string | undefined;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

type Answers = Readonly<Record<number, Shape>>;
export type ReplyOf<A> = {
  readonly [S in keyof A]: { readonly status: S; readonly body: A[S] extends z.ZodType ? z.input<A[S]> : never };
}[keyof A];

/** Kind of the target: a workflow, a session, a user. */
export interface Reported {
  readonly target: string;
  /** Its tenant, for callers of no tenant; null: it has none; absent: the target is a workflow, whose row names the tenant. */
  readonly tenant?: TenantId | null | undefined;
}

/** A request and its answer; undefined: none. */
export interface RequestParts {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** A further condition beside the route's right, for some or all requests. */
export interface Need {
  /** Another right, or to be of all tenants. */
  readonly of: Right | 'all-tenants';
  /** Absent: for every request. */
  readonly when?: ((asked: RequestParts) => boolean) | undefined;
  /** The refusal, for people: the field, and why. */
  readonly why: string;
}

export interface RouteFacts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As OpenAPI writes it: `/v1/workflows/{workflow}`. */
  readonly path: `/${string}`;
  readonly summary: string;
  /** Further notes: when it may be repeated, what it waits for. */
  readonly description?: string | undefined;
  readonly right: Right;
  /** Checked before anything is done. */
  readonly needs?: readonly Need[] | undefined;
  /** Codes of problems, beside those of every route and those that follow from what it takes. */
  readonly problems?: readonly string[] | undefined;
  /** Its targets, where the address doesn't name the only one: each has an entry in the audit. */
  readonly reports?: ((asked: RequestParts) => readonly Reported[]) | undefined;
  /** Where it is only passed on. */
  readonly edges?: Edges | undefined;
}

type FieldsOf<S> = S extends z.ZodType ? Extract<keyof z.output<S>, string> : never;

export interface Route<
  P extends Shape | undefined = Shape | undefined,
  Q extends Shape | undefined = Shape | undefined,
  B extends Shape | undefined = Shape | undefined,
  A extends Answers = Answers,
> extends RouteFacts {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly answers: A;
  readonly handle: (call: Call<ParsedBy<P>, ParsedBy<Q>, ParsedBy<B>>) => Promise<ReplyOf<A>>;
}

/** A declaration without the optional parts. */
type Declared<P, Q, B, A extends Answers, M, L> = Omit<RouteFacts, 'method' | 'path' | 'edges'> & {
  readonly edges?: Edges<FieldsOf<P> | FieldsOf<Q> | FieldsOf<B>> | undefined;
  readonly method: M;
  readonly path: L;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly answers: A;
  readonly handle: (call: Call<ParsedBy<P>, ParsedBy<Q>, ParsedBy<B>>) => Promise<ReplyOf<A>>;
};

/** A route with its types; the server sees `AnyRoute`. */
export function route<
  const M extends RouteFacts['method'],
  const L extends RouteFacts['path'],
  A extends Answers,
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Shape | undefined = undefined,
>(declared: Declared<P, Q, B, A, M, L>): Route<P, Q, B, A> & { readonly method: M; readonly path: L } {
  const { params, query, body, edges } = declared;
  const parts = { params: params as P, query: query as Q, body: body as B };
  return { ...declared, ...parts, problems: problemsOf({ ...declared, ...parts }), edges: edges as Edges | undefined };
}

/** Whether a part of the request has a field of this name. */
export const takes = (part: Shape | undefined, name: string): boolean =>
  part instanceof z.ZodObject && name in part.shape;

/** The codes that follow from what it takes, and its own. */
export function problemsOf(of: Parts & Pick<RouteFacts, 'needs' | 'problems'>): readonly string[] | undefined {
  const { params, query, body, needs, problems = [] } = of;
  const codes = [
    ...(takes(params, 'workflow') ? ['workflow-unknown'] : []),
    ...([params, query, body].some((part) => takes(part, 'tenant')) ? ['tenant-unknown'] : []),
    ...(takes(query, 'cursor') ? ['cursor-invalid'] : []),
    ...(needs === undefined ? [] : ['right-missing']),
    ...problems,
  ];
  return codes.length === 0 ? undefined : codes;
}

interface Parts {
  readonly params: Shape | undefined;
  readonly query: Shape | undefined;
  readonly body?: Shape | undefined;
}

/** Whether an operation changes nothing: one that a right to read allows, whatever its method. */
export const isRead = ({ method, right }: Pick<RouteFacts, 'method' | 'right'>): boolean =>
  method === 'GET' || right === 'read' || right === 'content';

/** The answer of nearly every route. */
export const ok = <T>(body: T): { readonly status: 200; readonly body: T } => ({ status: 200, body });

/** What the table of routes adds to a declaration. */
export interface Listed {
  /** Stable, camel case: `operationId`. */
  readonly name: string;
  /** The chapter of the reference that it belongs to. */
  readonly chapter: string;
}

/** A route of which only the declaration is known. */
export interface AnyRoute extends RouteFacts, Listed {
  readonly params: Shape | undefined;
  readonly query: Shape | undefined;
  readonly body: Shape | undefined;
  readonly answers: Answers;
  handle(call: Call<never, never, never>): Promise<{ readonly status: number; readonly body: unknown }>;
}
