/** Entry point of @tidemark/mcp. */

export { serveHttp } from './http.ts';
export type { McpOptions } from './server.ts';
export { serveStdio } from './stdio.ts';
