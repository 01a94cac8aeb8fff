/**
 * The client's types are made from the routes' OpenAPI document, so that it depends on nothing of the server. Here the compiler holds them
 * against the types that the routes themselves have: what the client may send is what the server takes, what it is answered is what the
 * server answers, in both directions.
 */
import type { Route, Routes, StreamRoute, StreamRoutes } from '@tidemark/api';
import type { Answer, Endpoint, EventOf, FollowInput, Input, StreamEndpoint } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import { expectTypeOf, it } from 'vitest';
import type { z } from 'zod';

/** The client's view of a route: its input, and its answer. */
type InputOf<R> =
  R extends Route<infer P, infer Q, infer B, infer _A>
    ? Given<'params', P> & Given<'query', Q> & Given<'body', B>
    : never;
type Given<K extends string, S> = S extends z.ZodType
  ? Record<string, never> extends z.input<S>
    ? { readonly [N in K]?: z.input<S> | undefined }
    : { readonly [N in K]: z.input<S> }
  : unknown;
type OutputOf<R> =
  R extends Route<infer _P, infer _Q, infer _B, infer A> ? { [S in keyof A]: z.output<A[S]> }[keyof A] : never;

/** The client's view of a stream: its input, and its events. */
type FollowInputOf<R> =
  R extends StreamRoute<infer P, infer Q>
    ? (P extends z.ZodType ? { readonly params: z.input<P> } : unknown) &
        (Q extends z.ZodType ? { readonly query?: z.input<Q> | undefined } : unknown)
    : never;
type EventsOf<R> = R extends { readonly events: infer N }
  ? {
      [K in Exclude<keyof N, 'end'> & string]: N[K] extends { readonly schema: infer S extends z.ZodType }
        ? { readonly name: K; readonly data: z.output<S> }
        : never;
    }[Exclude<keyof N, 'end'> & string]
  : never;

type Named<R> = R extends { readonly method: infer M extends string; readonly path: infer P extends string }
  ? `${M} ${P}`
  : never;
type ByName<R> = { readonly [One in R as Named<One>]: One };
type Served = ByName<Routes>;
type Streams = ByName<StreamRoutes>;

/** Whoever reads or sends it changes nothing of it. */
type Fixed<T> = T extends readonly (infer Each)[]
  ? readonly Fixed<Each>[]
  : T extends object
    ? { readonly [K in keyof T]: Fixed<T[K]> }
    : T;

/** What is any value was JSON on the wire; a field that may be absent may be undefined. */
type AsRead<T> = unknown extends T
  ? Json
  : T extends readonly (infer Each)[]
    ? readonly AsRead<Each>[]
    : T extends object
      ? { readonly [K in keyof T]: AsRead<T[K]> | (object extends Pick<T, K> ? undefined : never) }
      : T;

/** Names of those that are not the same in both directions. */
type Differing<Names extends string, One, Other> = {
  [E in Names]: One extends Readonly<Record<E, infer A>>
    ? Other extends Readonly<Record<E, infer B>>
      ? [A] extends [B]
        ? [B] extends [A]
          ? never
          : E
        : E
      : E
    : E;
}[Names];

type Answers = { readonly [E in Endpoint]: Answer<E> };
type ServedAnswers = { readonly [E in keyof Served]: AsRead<OutputOf<Served[E]>> };

/** Each field that may be sent, by its part: those of the query are text on the wire, and the server takes any value for some of them. */
type Fields<T> = { readonly [Part in keyof T]-?: keyof NonNullable<T[Part]> };
type SentFields = { readonly [E in Endpoint]: Fields<Input<E>> };
type TakenFields = { readonly [E in keyof Served]: Fields<InputOf<Served[E]>> };

/** Without what the path names: that is text on the wire, which the client takes as a number too. */
type Unnamed<T> = Omit<T, 'params'>;

/** Names of those that the server would refuse to compile. */
type Refused = {
  [E in Endpoint & keyof Served]: Unnamed<Input<E>> extends Unnamed<Fixed<InputOf<Served[E]>>> ? never : E;
}[Endpoint & keyof Served];

it('the client has the endpoints of the server, and takes and answers what they do', () => {
  expectTypeOf<Endpoint>().toEqualTypeOf<keyof Served>();
  expectTypeOf<Differing<Endpoint, Answers, ServedAnswers>>().toEqualTypeOf<never>();
  expectTypeOf<Refused>().toEqualTypeOf<never>();
  expectTypeOf<Differing<Endpoint, SentFields, TakenFields>>().toEqualTypeOf<never>();
});

it('the comparison finds what differs', () => {
  type Wrong = Omit<Answers, 'GET /v1/me'> & { readonly 'GET /v1/me': { readonly subject: number } };
  expectTypeOf<Differing<Endpoint, Wrong, ServedAnswers>>().toEqualTypeOf<'GET /v1/me'>();
});

it('the client has the streams of the server, and follows them as they tell', () => {
  type Events = { readonly [E in StreamEndpoint]: EventOf<E> };
  type ReadEvents = { readonly [E in keyof Streams]: AsRead<EventsOf<Streams[E]>> };
  expectTypeOf<StreamEndpoint>().toEqualTypeOf<keyof Streams>();
  expectTypeOf<Differing<StreamEndpoint, Events, ReadEvents>>().toEqualTypeOf<never>();
  expectTypeOf<FollowInput<'GET /v1/events'>>().toExtend<FollowInputOf<Streams['GET /v1/events']>>();
  type One = 'GET /v1/workflows/{workflow}/events';
  expectTypeOf<Unnamed<FollowInput<One>>>().toExtend<Unnamed<FollowInputOf<Streams[One]>>>();
});
