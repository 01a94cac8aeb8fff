/**
 * Owns the client's types: each endpoint by its method and path. The tables are generated from the server's declarations, so the client
 * needs nothing of the server.
 */

import type { Endpoints, Streams } from './api/table.ts';

/** `GET /v1/workflows/{workflow}`. */
export type Endpoint = keyof Endpoints;
export type Input<E extends Endpoint> = Endpoints[E]['input'] & ParamsOf<E>;
export type Answer<E extends Endpoint> = Endpoints[E]['answer'];

/** `GET /v1/workflows/{workflow}/events`. */
export type StreamEndpoint = keyof Streams;
export type FollowInput<E extends StreamEndpoint> = Streams[E]['input'] & ParamsOf<E>;
/** An event: `{ name, data }`, by the name of the event. */
export type EventOf<E extends StreamEndpoint> = Streams[E]['event'];

/** What the braces of a path name, by its name. */
type ParamsOf<Path extends string> = Named<Path> extends never ? unknown : { readonly params: Params<Named<Path>> };
type Params<Names extends string> = { readonly [Name in Names]: string | number };
type Named<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Named<Rest> : never;
