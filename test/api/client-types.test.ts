/**
 * The client's types are made from the routes' OpenAPI document, so that it depends on nothing of the server. Here the compiler holds them
 * against the types that the routes themselves have: what the client may send is what the server takes, what it is answered is what the
 * server answers, in both directions.
 */
import type { EventsOf, FollowInputOf, InputOf, OutputOf, Routes, StreamRoutes } from '@tidemark/api';
import type { Answer, Endpoint, EventOf, FollowInput, Input, StreamEndpoint } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import { expect, expectTypeOf, it } from 'vitest';
import { staleClientTypes } from '../../scripts/client-types.ts';

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

/** Names of those that the server would refuse to compile. */
type Refused = { [E in Endpoint & keyof Served]: Input<E> extends Fixed<InputOf<Served[E]>> ? never : E }[Endpoint &
  keyof Served];

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
  expectTypeOf<FollowInput<One>>().toExtend<FollowInputOf<Streams[One]>>();
});

it('its files are what the routes say', () => {
  expect(staleClientTypes(), 'run `node scripts/client-types.ts`').toEqual([]);
});
