/**
 * Owns what a route is: one declaration, from which come its validation, what it answers, its part of the OpenAPI document, its line in
 * the reference and the client's types. Must not know Fastify.
 *
 * R1 and R2 of access are kept for every route in one place (server.ts): it names the right that it needs, and marks what is content.
 */

import type { Principal, Right } from '@tidemark/ports';
import { z } from 'zod';
import type { Desk } from './desk.ts';
import type { Fleet } from './fleet.ts';

type Shape = z.ZodType;
type ParsedBy<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A request that was let in. */
export interface Call<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly principal: Principal;
  /** It may see content; what is marked as such is taken out of the answer otherwise. */
  readonly seesContent: boolean;
  readonly desk: Desk;
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

export interface RouteFacts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As OpenAPI writes it: `/v1/workflows/{workflow}`. */
  readonly path: `/${string}`;
  /** Stable, camel case: `operationId`. */
  readonly name: string;
  readonly summary: string;
  /** What else to know: when it may be repeated, what it waits for. */
  readonly description?: string | undefined;
  /** The chapter of the reference that it belongs to. */
  readonly chapter: string;
  readonly right: Right;
  /** Codes of problems, beside those that every route may answer. */
  readonly problems?: readonly string[] | undefined;
}

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

/** A declaration without what it has none of. */
type Declared<P, Q, B, A extends Answers, M, L> = Omit<RouteFacts, 'method' | 'path'> & {
  readonly method: M;
  readonly path: L;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly answers: A;
  readonly handle: (call: Call<ParsedBy<P>, ParsedBy<Q>, ParsedBy<B>>) => Promise<ReplyOf<A>>;
};

/** A route with its types kept; whoever serves it sees `AnyRoute`. */
export function route<
  const M extends RouteFacts['method'],
  const L extends RouteFacts['path'],
  A extends Answers,
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Shape | undefined = undefined,
>(declared: Declared<P, Q, B, A, M, L>): Route<P, Q, B, A> & { readonly method: M; readonly path: L } {
  const { params, query, body } = declared;
  return { ...declared, params: params as P, query: query as Q, body: body as B };
}

/** The answer of nearly every route. */
export const ok = <T>(body: T): { readonly status: 200; readonly body: T } => ({ status: 200, body });

/** Of which nothing but the declaration is known. */
export interface AnyRoute extends RouteFacts {
  readonly params: Shape | undefined;
  readonly query: Shape | undefined;
  readonly body: Shape | undefined;
  readonly answers: Answers;
  handle(call: Call<never, never, never>): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** What the client is given of a route: what it takes, and what it answers. */
export type InputOf<R> =
  R extends Route<infer P, infer Q, infer B, infer _A>
    ? Given<'params', P> & Given<'query', Q> & Given<'body', B>
    : never;
type Given<K extends string, S> = S extends z.ZodType
  ? Record<string, never> extends z.input<S>
    ? { readonly [N in K]?: z.input<S> | undefined }
    : { readonly [N in K]: z.input<S> }
  : unknown;
export type OutputOf<R> =
  R extends Route<infer _P, infer _Q, infer _B, infer A> ? { [S in keyof A]: z.output<A[S]> }[keyof A] : never;

// --- Content ---------------------------------------------------------------------------------------------------------

const CONTENT = 'x-content';

/** Marks a field that those alone are given who might run the workflow (R2); absent for the others. */
export const content = <S extends z.ZodType>(schema: S) => schema.optional().meta({ [CONTENT]: true });

const isContent = (schema: z.ZodType): boolean => z.globalRegistry.get(schema)?.[CONTENT] === true;

type Redact = (value: unknown) => unknown;

/** What takes content out of values of the schema; undefined where there is none in them. */
export function redactorOf(schema: z.ZodType): Redact | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly) {
    const inner = redactorOf(schema.unwrap() as z.ZodType);
    return inner && ((value) => (value === null || value === undefined ? value : inner(value)));
  }
  if (schema instanceof z.ZodArray) {
    const element = redactorOf(schema.element as z.ZodType);
    return element && ((value) => (value as readonly unknown[]).map(element));
  }
  if (schema instanceof z.ZodObject) return objectRedactor(schema.shape as Readonly<Record<string, z.ZodType>>);
  if (schema instanceof z.ZodUnion) {
    const options = (schema.options as readonly z.ZodType[]).map((option) => [option, redactorOf(option)] as const);
    if (options.every(([, redact]) => redact === undefined)) return undefined;
    return (value) => {
      const [, redact] = options.find(([option]) => option.safeParse(value).success) ?? [];
      return redact === undefined ? value : redact(value);
    };
  }
  return undefined;
}

function objectRedactor(shape: Readonly<Record<string, z.ZodType>>): Redact | undefined {
  const closed = Object.keys(shape).filter((key) => isContent(shape[key]!));
  const inner = Object.entries(shape).flatMap(([key, field]) => {
    const redact = closed.includes(key) ? undefined : redactorOf(field);
    return redact === undefined ? [] : [[key, redact] as const];
  });
  if (closed.length === 0 && inner.length === 0) return undefined;
  return (value) => {
    const shown: Record<string, unknown> = { ...(value as object) };
    for (const key of closed) delete shown[key];
    for (const [key, redact] of inner) if (key in shown) shown[key] = redact(shown[key]);
    return shown;
  };
}
