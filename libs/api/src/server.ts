/**
 * Owns serving the routes by Fastify: who asks and what they may, validation, what is given to whom, problems, and the bounds on all of
 * it. A route is let in here or nowhere.
 *
 * R1, R2 of access: every route names its right; content is taken out of what those are answered who may not see it.
 */

import type { IncomingMessage } from 'node:http';
import rateLimit from '@fastify/rate-limit';
import { refuseCredentialsInQuery } from '@tidemark/access';
import { AccessError, InvalidError, LimitError, TidemarkError, UnavailableError } from '@tidemark/core';
import { type AuditTrail, type Authenticator, type Credentials, mayDo, type Principal } from '@tidemark/ports';
import type { Definition } from '@tidemark/runtime';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { audited, noteRefused } from './audited.ts';
import { checkDepth, checkTexts, textOf } from './body.ts';
import { serveConsole, wantsPage } from './console.ts';
import { Desk, type Place } from './desk.ts';
import { Streams } from './events/streams.ts';
import { Fleet } from './fleet.ts';
import {
  BODY_MAX_BYTES,
  CONNECTION_TIMEOUT_MS,
  HANDLER_TIMEOUT_MS,
  HEADERS_MAX_BYTES,
  PARAM_MAX_CHARS,
  RATE_MAX_COUNT,
  RATE_WINDOW_MS,
  REFUSED_MAX_COUNT,
  REQUEST_TIMEOUT_MS,
  URL_MAX_CHARS,
} from './limits.ts';
import { openApiOf } from './openapi.ts';
import { invalidRequest, PROBLEM_TYPE, toldOf } from './problem.ts';
import { checkQuery } from './query.ts';
import { type AnyRoute, type Call, hasContent, redactorOf } from './route.ts';
import { routes, streamRoutes } from './routes.ts';
import { judgeAgain } from './standing.ts';
import type { AnyStream, Follow } from './stream-route.ts';

/** PEM texts. */
export interface ApiTls {
  readonly cert: string;
  readonly key: string;
  /** Whose certificates clients may show; absent: the system's authorities. */
  readonly ca?: string | undefined;
  /** `required`: who shows none is not let in, whatever else they show. */
  readonly clients: 'off' | 'required';
}

export interface ApiOptions {
  readonly place: Place;
  /** Workflows that can be started by name, the newest version of each first. */
  readonly definitions: readonly Definition[];
  readonly authenticator: Authenticator;
  /** Who reads content and who does anything is written down here; what can't be written down isn't done. */
  readonly audit?: AuditTrail | undefined;
  /** Given: it is served over TLS alone. */
  readonly tls?: ApiTls | undefined;
  /** Names by which it is reached, without port; others are refused (a page that made its own name point here). Absent: any. */
  readonly hosts?: readonly string[] | undefined;
  /** Requests of one principal in a minute. */
  readonly rateMaxCount?: number | undefined;
  /** Folder of the built web console. Absent: none is served. */
  readonly consoleFolder?: string | undefined;
  /** Answers are held against their schemas; for tests. */
  readonly checksAnswers?: boolean | undefined;
  /** Told of what the server could not do. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
  readonly version?: string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal;
  }
}

export const allRoutes: readonly AnyRoute[] = Object.values(routes) as unknown as readonly AnyRoute[];

export const allStreams: readonly AnyStream[] = Object.values(streamRoutes) as unknown as readonly AnyStream[];

export const documentOf = (version = '1.0.0') => openApiOf(allRoutes, allStreams, version);

/** A server that doesn't listen yet; closing it ends what it began, and nothing of the place. */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit: BODY_MAX_BYTES,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: PARAM_MAX_CHARS },
    ...connections(options),
    frameworkErrors: (error, _request, reply) => sendProblem(reply, frameworkError(error), options),
  });
  await app.register(rateLimit, { global: false, max: RATE_MAX_COUNT, timeWindow: RATE_WINDOW_MS });
  readBodies(app);
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, frameworkError(error), options));
  const { consoleFolder } = options;
  if (consoleFolder !== undefined) await serveConsole(app, consoleFolder);
  app.setNotFoundHandler((request, reply) => {
    const { method, url, headers } = request;
    if (consoleFolder !== undefined && wantsPage(method, url, headers.accept)) return reply.sendFile('index.html');
    const unknown = new InvalidError('route-unknown', `Nothing is served at ${method} of this path.`);
    return sendProblem(reply, unknown, options);
  });
  app.addHook('onRequest', async (request) => guard(request, options));
  const admit = admission(app, options);
  const desk = new Desk(options.place, options.definitions);
  const fleet = new Fleet(desk);
  app.addHook('preClose', async () => fleet.close());
  const serving = { desk, fleet, admit, options };
  for (const route of allRoutes) serve(app, route, serving);
  const streams = new Streams(options.place, options.onError ?? (() => {}));
  app.addHook('preClose', () => streams.close());
  for (const stream of allStreams) serveStream(app, stream, serving, streams);
  const document = JSON.stringify(documentOf(options.version));
  app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(document));
  app.get('/healthz', (_request, reply) => reply.type('application/json').send('{"ok":true}'));
  return app;
}

/** The fields of either kind are the same to Fastify, and its types keep them apart. */
function connections({ tls }: ApiOptions): { readonly http: { readonly maxHeaderSize: number } } {
  const http = { maxHeaderSize: HEADERS_MAX_BYTES };
  if (tls === undefined) return { http };
  const { clients, ...files } = tls;
  const isRequired = clients === 'required';
  const https = { ...http, ...files, requestCert: isRequired, rejectUnauthorized: isRequired };
  return { https } as unknown as { readonly http: typeof http };
}

function readBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      checkDepth(bytes as Buffer);
      const text = textOf(bytes as Buffer);
      parse(request, text, (error, value) => {
        try {
          if (error === null) checkTexts(value);
          done(error, value);
        } catch (refused) {
          done(refused as Error);
        }
      });
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Before anything is asked of anybody. Throws `InvalidError` (`address-too-long`, `credentials-in-query`), `AccessError` (`host-refused`, `origin-refused`). */
function guard({ raw, headers }: FastifyRequest, { hosts }: ApiOptions): void {
  if ((raw.url ?? '').length > URL_MAX_CHARS) {
    throw new InvalidError('address-too-long', `The address is longer than ${URL_MAX_CHARS} characters.`);
  }
  const query = (raw.url ?? '').indexOf('?');
  if (query !== -1) refuseCredentialsInQuery(new URLSearchParams((raw.url ?? '').slice(query)));
  const host = (headers.host ?? '').toLowerCase();
  if (hosts !== undefined && !hosts.includes(nameOf(host))) {
    throw new AccessError('host-refused', 'This host is not served here (Host).');
  }
  // Pages of other origins can't read what is answered, since nothing allows them to; nor may they have anything done.
  const { origin } = headers;
  if (origin !== undefined && URL.parse(origin)?.host !== host) {
    throw new AccessError('origin-refused', 'Pages of this origin are not served here (Origin).');
  }
}

/** Without its port; empty where it is none. */
const nameOf = (host: string): string => /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';

type Admit = (request: FastifyRequest, route: Pick<AnyRoute, 'name' | 'right'>) => Promise<void>;

/** Who asks, whether they may, and whether it is not too much. */
function admission(app: FastifyInstance, options: ApiOptions): Admit {
  const { authenticator, audit, rateMaxCount = RATE_MAX_COUNT } = options;
  const ofPrincipal = app.createRateLimit({
    max: rateMaxCount,
    keyGenerator: ({ principal }) => `${principal.kind} ${principal.tenant ?? ''} ${principal.subject}`,
  });
  const ofRefused = app.createRateLimit({ max: REFUSED_MAX_COUNT, keyGenerator: ({ ip }) => ip });
  return async (request, route) => {
    const { right } = route;
    try {
      request.principal = await authenticator.authenticate(credentialsOf(request));
    } catch (error) {
      // Whoever shows good ones is let in, however many behind the same address show wrong ones.
      const refused = error instanceof AccessError ? await ofRefused(request) : undefined;
      throw refused !== undefined && isOver(refused) ? tooMany(refused) : error;
    }
    const asked = await ofPrincipal(request);
    if (isOver(asked)) throw tooMany(asked);
    if (!mayDo(request.principal, right)) {
      noteRefused(audit, { route, principal: request.principal, params: request.params }, 'right-missing');
      throw new AccessError(
        'right-missing',
        `This needs the right '${right}', which ${request.principal.subject} does not have.`,
      );
    }
  };
}

interface Limited {
  readonly isAllowed: boolean;
  readonly isExceeded?: boolean;
  readonly ttlInSeconds?: number;
}
const isOver = (limited: Limited): boolean => !limited.isAllowed && limited.isExceeded === true;
const tooMany = ({ ttlInSeconds }: Limited): LimitError =>
  new LimitError('rate-exceeded', 'Too many requests; come again later.', {
    retryAfterMs: (ttlInSeconds ?? 1) * 1_000,
  });

const credentialsOf = ({ headers, raw }: FastifyRequest): Credentials => ({
  authorization: headers.authorization,
  certificate: certificateOf(raw),
});

/** Fingerprint of a client's certificate that the connection verified. */
function certificateOf({ socket }: IncomingMessage): string | undefined {
  if (!('authorized' in socket) || socket.authorized !== true) return undefined;
  const { fingerprint256 } = (
    socket as unknown as { getPeerCertificate(): { fingerprint256?: string } }
  ).getPeerCertificate();
  return fingerprint256?.replaceAll(':', '').toLowerCase();
}

interface Serving {
  readonly desk: Desk;
  readonly fleet: Fleet;
  readonly admit: Admit;
  readonly options: ApiOptions;
}

/** `/v1/x/{id}` as Fastify writes it. */
export const pathOf = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

function serve(app: FastifyInstance, route: AnyRoute, { desk, fleet, admit, options }: Serving): void {
  const redactors = new Map(
    Object.entries(route.answers).map(([status, schema]) => [Number(status), redactorOf(schema)]),
  );
  const mayShowContent = Object.values(route.answers).some(hasContent);
  app.route({
    method: route.method,
    url: pathOf(route.path),
    onRequest: (request) => admit(request, route),
    handler: async (request, reply) => {
      const { principal } = request;
      const seesContent = mayDo(principal, 'content');
      const signal = gone(reply);
      const params = parsed('path', route.params, request.params);
      const call = {
        params,
        query: parsed('query', route.query, request.query),
        body: parsed('body', route.body, request.body),
        traceparent: [request.headers.traceparent].flat()[0],
        ...{ principal, seesContent, desk, fleet, signal },
      } as Call<never, never, never>;
      const showsContent = mayShowContent && seesContent;
      const about = { route, principal, showsContent, params, query: call.query, tenantOf: desk.tenantOf };
      // What became of it is written down, also where the caller has left meanwhile.
      const answering = audited(options.audit, about, () => route.handle(call));
      const { status, body } = await inTime(answering, signal);
      if (options.checksAnswers === true) route.answers[status]!.parse(body);
      const redact = seesContent ? undefined : redactors.get(status);
      return reply
        .code(status)
        .header('cache-control', 'no-store')
        .type('application/json')
        .send(JSON.stringify(redact === undefined ? body : redact(body)));
    },
  });
}

function serveStream(
  app: FastifyInstance,
  stream: AnyStream,
  { desk, admit, options }: Serving,
  streams: Streams,
): void {
  app.route({
    method: 'GET',
    url: pathOf(stream.path),
    onRequest: (request) => admit(request, stream),
    handler: async (request, reply) => {
      const { principal, headers } = request;
      const seesContent = mayDo(principal, 'content');
      const params = parsed('path', stream.params, request.params);
      const [lastId] = [headers['last-event-id']].flat();
      const call = {
        params,
        query: parsed('query', stream.query, request.query),
        ...{ principal, seesContent, desk, streams, lastId },
      } as Follow<never, never>;
      const release = streams.admit(principal);
      try {
        const about = { route: stream, principal, showsContent: seesContent, params, tenantOf: desk.tenantOf };
        const { following } = await audited(options.audit, about, async () => ({
          body: null,
          following: await stream.follow(call),
        }));
        if (following === null) return reply.code(204).header('cache-control', 'no-store').send();
        reply.hijack();
        const sink = streams.open(reply.raw);
        judgeAgain({ authenticator: options.authenticator, credentials: credentialsOf(request), principal, sink });
        await following(sink).catch((error: unknown) => sink.fail(error, options.onError));
      } finally {
        release();
      }
      return reply;
    },
  });
}

/** Throws `InvalidError` (`request-invalid`) that names each wrong field. */
function parsed(part: string, schema: z.ZodType | undefined, value: unknown): unknown {
  if (part === 'query') checkQuery(schema, value);
  if (schema === undefined) return undefined;
  const found = schema.safeParse(value ?? {});
  if (found.success) return found.data;
  throw invalidRequest(part, found.error);
}

function gone(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort(new TidemarkError('caller-gone', 'The caller has left.'));
  });
  return left.signal;
}

/** Throws `UnavailableError` (`answer-late`): what is under way goes on. Sending the same again finds it done where the caller gave it an id or a key. */
async function inTime<T>(answering: Promise<T>, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `There was no answer within ${HANDLER_TIMEOUT_MS} ms; servers behind this one may be away. It may still be done: ask again with the same id or key; without one it may be done twice.`;
    timer = setTimeout(() => reject(new UnavailableError('answer-late', message)), HANDLER_TIMEOUT_MS);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([answering, late]);
  } finally {
    clearTimeout(timer);
    // What nobody waits for may still fail.
    answering.catch(() => {});
  }
}

/** Fastify's own refusals, as ours. */
function frameworkError(error: unknown): unknown {
  if (error instanceof TidemarkError) return error;
  const { code, statusCode, message } = error as {
    readonly code?: string;
    readonly statusCode?: number;
    readonly message?: string;
  };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new LimitError('body-too-large', `The body is larger than ${BODY_MAX_BYTES} bytes.`);
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new InvalidError('body-type-unknown', 'Content-Type: only application/json is served.');
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new InvalidError('request-invalid', `The request is wrong: ${message ?? 'it can not be read'}.`);
  }
  return error;
}

function sendProblem(reply: FastifyReply, error: unknown, { onError }: ApiOptions): void {
  const told = toldOf(error);
  if (told.isFault) onError?.('api', error);
  if (told.retryAfterS !== undefined) reply.header('retry-after', String(told.retryAfterS));
  if (told.problem.status === 401) reply.header('www-authenticate', 'Bearer');
  void reply
    .code(told.problem.status)
    .header('cache-control', 'no-store')
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(told.problem));
}
