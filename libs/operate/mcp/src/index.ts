/** Entry point of @tidemark/mcp. */

export { type HttpOptions, type HttpServer, serveHttp } from './http.ts';
export type { McpOptions } from './server.ts';
export { type StdioOptions, serveStdio } from './stdio.ts';
