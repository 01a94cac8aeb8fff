/** Owns the client's types: each endpoint by its method and path, from the server's own declarations. Types alone: nothing of the server is loaded. */

import type { InputOf, OutputOf, Routes } from '@tidemark/api';

type AnyRoute = Routes[keyof Routes];
type Named<R> = R extends { readonly method: infer M extends string; readonly path: infer P extends string }
  ? `${M} ${P}`
  : never;
type ByEndpoint = { readonly [R in AnyRoute as Named<R>]: R };

/** `GET /v1/workflows/{workflow}`. */
export type Endpoint = keyof ByEndpoint;
export type Input<E extends Endpoint> = InputOf<ByEndpoint[E]>;
export type Answer<E extends Endpoint> = OutputOf<ByEndpoint[E]>;
