/** The door of the library. */

export { TidemarkApiError } from './api-error.ts';
export { Client, type ConnectOptions, connect, type StartOptions } from './client.ts';
export type { Answer, Endpoint, Input } from './endpoints.ts';
export { Run } from './run.ts';
