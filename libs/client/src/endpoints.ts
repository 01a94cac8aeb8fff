/** Owns the client's types: each endpoint by its method and path, from the server's own declarations. Types alone: nothing of the server is loaded. */

import type { EventsOf, FollowInputOf, InputOf, OutputOf, Routes, StreamRoutes } from '@tidemark/api';

type AnyRoute = Routes[keyof Routes];
type Named<R> = R extends { readonly method: infer M extends string; readonly path: infer P extends string }
  ? `${M} ${P}`
  : never;
type ByEndpoint = { readonly [R in AnyRoute as Named<R>]: R };

/** `GET /v1/workflows/{workflow}`. */
export type Endpoint = keyof ByEndpoint;
export type Input<E extends Endpoint> = InputOf<ByEndpoint[E]>;
export type Answer<E extends Endpoint> = OutputOf<ByEndpoint[E]>;

type AnyStream = StreamRoutes[keyof StreamRoutes];
type StreamByEndpoint = { readonly [R in AnyStream as Named<R>]: R };

/** `GET /v1/workflows/{workflow}/events`. */
export type StreamEndpoint = keyof StreamByEndpoint;
export type FollowInput<E extends StreamEndpoint> = FollowInputOf<StreamByEndpoint[E]>;
/** What is told: `{ name, data }`, by the name of the event. */
export type EventOf<E extends StreamEndpoint> = EventsOf<StreamByEndpoint[E]>;
