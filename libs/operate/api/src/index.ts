/** Entry point of the library. */

export { LOOPBACK_HOSTS } from '@tidemark/access/http-guard';
export type { DefinitionSource } from './backend.ts';
export { builtConsole } from './console.ts';
export type { ApiOperation, ApiParameter, ApiSchema, ApiSchemas, OpenApiDocument } from './document.ts';
export { DEFAULT_PORT, type Listening, listenApi, listenSocket } from './listen.ts';
export { LOCAL_PRINCIPAL, localAuthenticator, ownerAuthenticator } from './local.ts';
export type { Problem } from './problem.ts';
export type { Route } from './route.ts';
export { allRoutes, allStreams, type Routes, type StreamRoutes } from './routes.ts';
export { type ApiOptions, createApi, documentOf } from './server.ts';
export type { StreamRoute } from './stream-route.ts';
