/**
 * Owns the API for a program in the process that has the place open: as `fetch`, without a server, with the same operations, checks and
 * refusals. Streams need a server.
 */

import { parse } from 'node:querystring';
import { Reads } from '@tidemark/access/reads';
import { InvalidError } from '@tidemark/core';
import type { Principal } from '@tidemark/ports';
import type { Definition } from '@tidemark/runtime';
import { Backend, type ServingProcess } from './backend.ts';
import { bodyOf } from './body.ts';
import { Fleet } from './fleet.ts';
import { type Answering, Operation } from './operation.ts';
import { PROBLEM_TYPE, reportedOf } from './problem.ts';
import type { AnyRoute } from './route.ts';
import { allRoutes } from './routes.ts';

export interface LocalApiOptions extends Omit<Answering, 'reads'> {
  readonly place: ServingProcess;
  /** Workflows that can be started by name, the newest version of each first. */
  readonly definitions: readonly Definition[];
  readonly principal: Principal;
}

export interface LocalApi {
  readonly fetch: typeof fetch;
  /** Receives the newest failure of this process itself, which an answer of status 500 or 503 doesn't contain. */
  readonly fault: () => unknown;
  close(): void;
}

/** Closing it ends what it began, but not the place. */
export function localApi({ place, definitions, principal, ...answering }: LocalApiOptions): LocalApi {
  const backend = new Backend(place, definitions);
  let fleet: Fleet | undefined;
  let fault: unknown;
  const operations = new Map<AnyRoute, Operation>();
  const operationOf = (route: AnyRoute): Operation => {
    const operation = operations.get(route) ?? new Operation(route);
    operations.set(route, operation);
    return operation;
  };
  const never = new AbortController().signal;
  const reads = new Reads();
  const answer = async (address: URL, { method = 'GET', body, headers, signal }: RequestInit): Promise<Response> => {
    const { route, params } = found(method, address.pathname);
    fleet ??= new Fleet(backend);
    const operation = operationOf(route);
    const given = {
      ...{ params, principal, query: parse(address.search.slice(1)) },
      body: typeof body === 'string' ? bodyOf(body) : undefined,
      traceparent: new Headers(headers).get('traceparent') ?? undefined,
      signal: signal ?? never,
    };
    const request = operation.ask(given, { backend, fleet });
    const reached = await operation.answer(request, { ...answering, reads });
    const type = { 'content-type': 'application/json' };
    return new Response(reached.text, { status: reached.status, headers: type });
  };
  return {
    fetch: async (input, init = {}) => {
      try {
        return await answer(new URL(String(input)), init);
      } catch (error) {
        const reported = reportedOf(error);
        if (reported.isFault) fault = error;
        return new Response(JSON.stringify(reported.problem), {
          status: reported.problem.status,
          headers: { 'content-type': PROBLEM_TYPE },
        });
      }
    },
    fault: () => fault,
    close: () => fleet?.close(),
  };
}

interface Compiled {
  readonly route: AnyRoute;
  readonly pattern: RegExp;
}

let compiled: readonly Compiled[] | undefined;

/** Throws `InvalidError` (`route-unknown`). */
function found(
  method: string,
  path: string,
): { readonly route: AnyRoute; readonly params: Readonly<Record<string, string>> } {
  compiled ??= allRoutes.map((route) => ({
    route,
    pattern: new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
  }));
  for (const { route, pattern } of compiled) {
    const match = route.method === method ? pattern.exec(path) : null;
    if (match === null) continue;
    const params = Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]);
    return { route, params: Object.fromEntries(params) as Readonly<Record<string, string>> };
  }
  throw new InvalidError('route-unknown', `Nothing is served at ${method} of this path.`);
}
