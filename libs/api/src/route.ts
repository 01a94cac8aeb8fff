/**
 * Owns what a route is: one declaration, from which come its validation, what it answers, its part of the OpenAPI document, its line in
 * the reference and the client's types. Must not know Fastify.
 *
 * R1 and R2 of access are kept for every route in one place (server.ts): it names the right that it needs, and marks what is content.
 */

import type { TenantId } from '@tidemark/core';
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

/** What is told of: a workflow, a session, a user. */
export interface Told {
  readonly target: string;
  /** Whose it is, for callers of no tenant; absent: as far as it is known. */
  readonly tenant?: TenantId | undefined;
}

/** What a caller asked for, and was answered; undefined: nothing. */
export interface Asked {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

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
  /** What it tells of, where the address doesn't name that alone: each of them has an entry in the audit. */
  readonly tells?: ((asked: Asked) => readonly Told[]) | undefined;
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

const WORDS = 'x-words';

/**
 * Marks a text in which steps say in words what they did: whatever is in there may be content, so it is empty for who may not see that. It
 * comes with every row of a list, and showing it is no read that is written down.
 */
export const words = () =>
  z.string().meta({ [WORDS]: true, description: 'In words; empty for who may not see content.' });

const isMarked = (schema: z.ZodType, mark: string): boolean => z.globalRegistry.get(schema)?.[mark] === true;

type Redact = (value: unknown) => unknown;

/** Whether there is content in values of the schema. */
export const hasContent = (schema: z.ZodType): boolean => redactorOf(schema, [CONTENT]) !== undefined;

/** What takes content and words out of values of the schema, or what is so marked; undefined where there is nothing of it in them. */
export function redactorOf(schema: z.ZodType, marks: readonly string[] = [CONTENT, WORDS]): Redact | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly) {
    const inner = redactorOf(schema.unwrap() as z.ZodType, marks);
    return inner && ((value) => (value === null || value === undefined ? value : inner(value)));
  }
  if (schema instanceof z.ZodArray) {
    const element = redactorOf(schema.element as z.ZodType, marks);
    return element && ((value) => (value as readonly unknown[]).map(element));
  }
  if (schema instanceof z.ZodObject) return objectRedactor(schema.shape as Readonly<Record<string, z.ZodType>>, marks);
  if (schema instanceof z.ZodUnion) {
    const options = schema.options as readonly z.ZodType[];
    const redactors = options.map((option) => [option, redactorOf(option, marks)] as const);
    if (redactors.every(([, redact]) => redact === undefined)) return undefined;
    return (value) => {
      const [, redact] = redactors.find(([option]) => option.safeParse(value).success) ?? [];
      return redact === undefined ? value : redact(value);
    };
  }
  return undefined;
}

function objectRedactor(shape: Readonly<Record<string, z.ZodType>>, marks: readonly string[]): Redact | undefined {
  const marked = (mark: string): readonly string[] =>
    marks.includes(mark) ? Object.keys(shape).filter((key) => isMarked(shape[key]!, mark)) : [];
  const [closed, blank] = [marked(CONTENT), marked(WORDS)];
  const inner = Object.entries(shape).flatMap(([key, field]) => {
    const redact = closed.includes(key) ? undefined : redactorOf(field, marks);
    return redact === undefined ? [] : [[key, redact] as const];
  });
  if (closed.length + blank.length + inner.length === 0) return undefined;
  return (value) => {
    const shown: Record<string, unknown> = { ...(value as object) };
    for (const key of closed) delete shown[key];
    for (const key of blank) if (key in shown) shown[key] = '';
    for (const [key, redact] of inner) if (key in shown) shown[key] = redact(shown[key]);
    return shown;
  };
}
