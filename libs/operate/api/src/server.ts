/**
 * Owns serving the routes by Fastify: who the caller is and what it may do, validation, redaction, problems, and the bounds on all of it.
 * It is the only place that lets a request in.
 *
 * R1, R2 of access: every route names its right; content is removed from answers to callers who may not see it.
 */

import rateLimit from '@fastify/rate-limit';
import { refuseCredentialsInQuery } from '@tidemark/access';
import { ambiguityOf, refusalOf } from '@tidemark/access/http-guard';
import { Bodies, type Body, type BodyBounds, hasBody } from '@tidemark/access/json-body';
import { ContentRoom, Reads } from '@tidemark/access/reads';
import { InvalidError, TidemarkError } from '@tidemark/core';
import type { AuditTrail, Authenticator, Principal } from '@tidemark/ports';
import type { Definition } from '@tidemark/runtime';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Admission, admission, credentialsOf, limitOpen } from './admission.ts';
import { type AnswerBounds, Answers } from './answers.ts';
import { audited } from './audited.ts';
import { Backend, type DefinitionSource, type ServingProcess } from './backend.ts';
import { bodyOf } from './body.ts';
import { serveConsole, wantsPage } from './console.ts';
import { Streams } from './events/streams.ts';
import { Fleet } from './fleet.ts';
import { answerBeforeClosing } from './last-answers.ts';
import { CONNECTION_TIMEOUT_MS, HEADERS_MAX_BYTES, RATE_MAX_COUNT, REQUEST_TIMEOUT_MS } from './limits.ts';
import { openApiOf } from './openapi.ts';
import { Operation, parsed } from './operation.ts';
import { PROBLEM_TYPE, rawAnswer, reportedOf } from './problem.ts';
import { redactionOf } from './redaction.ts';
import { type AnyRoute, isRead } from './route.ts';
import { allRoutes, allStreams } from './routes.ts';
import { addSafeHeaders, SAFE_HEADERS } from './safe-headers.ts';
import { reauthorise } from './standing.ts';
import type { AnyStream, Follow } from './stream-route.ts';
import { OWN_VERSION } from './version.ts';
import { Work } from './work.ts';

/** Longest address of a request with its query, in characters. */
const URL_MAX_CHARS = 8_192;
/** Connections at once, streams included; further ones are closed unheard. */
const CONNECTIONS_MAX_COUNT = 40_000;
/** The window, in milliseconds. */
const RATE_WINDOW_MS = 60_000;

/** PEM texts. */
export interface ApiTls {
  readonly cert: string;
  readonly key: string;
  /** Authorities of callers' certificates: a caller without one is not let in, whatever else it shows. Absent: none is asked for. */
  readonly ca?: string | undefined;
}

export interface ApiOptions {
  readonly place: ServingProcess;
  /** Workflows that can be started by name. */
  readonly definitions: readonly Definition[] | DefinitionSource;
  readonly authenticator: Authenticator;
  /** Records reads of content and every action; an action that can't be recorded isn't done. */
  readonly audit?: AuditTrail | undefined;
  /** Given: it is served over TLS alone. */
  readonly tls?: ApiTls | undefined;
  /** Names of the server, without port; requests to others are refused (a page that made its own name point here). Absent: any. */
  readonly hosts?: readonly string[] | undefined;
  /** Addresses and ranges of proxies: only in their requests `X-Forwarded-For` gives the address of a request. Absent: in nobody's. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Requests of one principal in a minute. */
  readonly rateMaxCount?: number | undefined;
  readonly answers?: AnswerBounds | undefined;
  readonly bodies?: BodyBounds | undefined;
  readonly connectionsMaxCount?: number | undefined;
  /** Folder of the built web console. Absent: none is served. */
  readonly consoleFolder?: string | undefined;
  /** Checks answers against their schemas; for tests. */
  readonly checksAnswers?: boolean | undefined;
  /** Called for each fault of the server. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
  readonly version?: string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal;
    /** The body as it is read; undefined: nothing follows the head. */
    incoming: Body | undefined;
  }
  interface FastifyContextConfig {
    takesBody?: boolean;
  }
}

export const documentOf = (version = '1.0.0') => openApiOf(allRoutes, allStreams, version);

/** A server that doesn't listen yet; closing it answers who waits, and ends what it began, but not the place. */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = Fastify({
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: true,
    // Each route bounds its own, and names what is too long.
    routerOptions: { maxParamLength: URL_MAX_CHARS },
    ...connections(options),
    trustProxy: [...(options.trustedProxies ?? [])],
    // No hook runs for these.
    frameworkErrors: (error, _request, reply) =>
      sendProblem(reply.headers(SAFE_HEADERS), frameworkError(error), options),
    clientErrorHandler(error, socket) {
      const answer = socket.writable ? rawAnswer(error) : null;
      if (answer === null) socket.destroy(error);
      else socket.end(answer, () => socket.destroy());
    },
  });
  addSafeHeaders(app);
  answerBeforeClosing(app, async () => {
    backend.leave();
    await streams.close();
  });
  app.server.maxConnections = options.connectionsMaxCount ?? CONNECTIONS_MAX_COUNT;
  await app.register(rateLimit, { global: false, max: RATE_MAX_COUNT, timeWindow: RATE_WINDOW_MS });
  const admitted = new Set([...allRoutes, ...allStreams].map(({ path }) => pathOf(path)));
  limitOpen(app, (path) => admitted.has(path));
  app.addHook('onRequest', async (request) => guard(request, options));
  const admitting = admission(app, { ...options, digest: options.place.ports.digest });
  const inHand = new ContentRoom(options.bodies?.inHandMaxBytes, options.place.ports.telemetry);
  readBodies(app, new Bodies(options.bodies, inHand), admitting);
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, frameworkError(error), options));
  const { consoleFolder } = options;
  if (consoleFolder !== undefined) await serveConsole(app, consoleFolder);
  app.setNotFoundHandler((request, reply) => {
    const { method, url, headers } = request;
    if (consoleFolder !== undefined && wantsPage(method, url, headers.accept)) return reply.sendFile('index.html');
    return sendProblem(reply, routeUnknown(method), options);
  });
  const answers = new Answers(options.answers);
  app.addHook('onSend', async (request, reply) => answers.watch(request.raw, reply.raw));
  const backend = new Backend(options.place, options.definitions, (changed) => options.authenticator.forget?.(changed));
  const fleet = new Fleet(backend);
  app.addHook('preClose', async () => fleet.close());
  const work = { reads: new Work(), acts: new Work() };
  const serving = { backend, fleet, admission: admitting, work, answers, reads: new Reads(inHand), options };
  for (const route of allRoutes) serve(app, route, serving);
  const streams = new Streams(options.place, inHand, options.onError ?? (() => {}));
  for (const stream of allStreams) serveStream(app, stream, serving, streams);
  // One for all, however many wait to be read, made for the first: most servers of a folder are never asked.
  let document: Buffer | undefined;
  app.get('/openapi.json', (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(documentOf(options.version)));
    return reply.type('application/json').send(document);
  });
  app.get('/healthz', (_request, reply) => reply.type('application/json').send('{"ok":true}'));
  return app;
}

/** The fields of either kind are the same to Fastify, and its types keep them apart. */
function connections({ tls }: ApiOptions): { readonly http: { readonly maxHeaderSize: number } } {
  const http = { maxHeaderSize: HEADERS_MAX_BYTES };
  if (tls === undefined) return { http };
  const isRequired = tls.ca !== undefined;
  const https = { ...http, ...tls, requestCert: isRequired, rejectUnauthorized: isRequired };
  return { https } as unknown as { readonly http: typeof http };
}

/** Reads the body of routes that take one, from the first piece on; a body after the head of any other request is refused unread. */
function readBodies(app: FastifyInstance, bodies: Bodies, { charge }: Pick<Admission, 'charge'>): void {
  app.addHook('onRequest', async (request, reply) => {
    const { raw, ip, method, is404, routeOptions } = request;
    if (!hasBody(raw)) return;
    if (is404) throw routeUnknown(method);
    if (routeOptions.config.takesBody !== true) {
      throw new InvalidError('body-unexpected', `No body is taken at ${method} of this path. Send none.`);
    }
    request.incoming = bodies.open(raw, reply.raw, ip);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const { incoming, routeOptions } = request;
    if (incoming === undefined) return routeOptions.config.takesBody === true ? bodyOf('') : undefined;
    try {
      return await incoming.value(bodyOf);
    } finally {
      await charge(request, incoming.tookBytes);
    }
  });
}

const routeUnknown = (method: string): InvalidError =>
  new InvalidError('route-unknown', `Nothing is served at ${method} of this path.`);

/**
 * Runs before any lookup. Throws `InvalidError` (`address-too-long`, `credentials-in-query`, `request-ambiguous`), `AccessError`
 * (`host-refused`, `origin-refused`).
 */
function guard({ raw, headers }: FastifyRequest, { hosts }: ApiOptions): void {
  const ambiguity = ambiguityOf(raw);
  if (ambiguity !== undefined) throw ambiguity;
  if ((raw.url ?? '').length > URL_MAX_CHARS) {
    throw addressTooLong();
  }
  const query = (raw.url ?? '').indexOf('?');
  if (query !== -1) refuseCredentialsInQuery(new URLSearchParams((raw.url ?? '').slice(query)));
  const refusal = refusalOf(headers, { hosts });
  if (refusal !== undefined) throw refusal;
}

interface Serving {
  readonly backend: Backend;
  readonly fleet: Fleet;
  readonly admission: Admission;
  /** Counted apart: actions that wait for the log block no reads. */
  readonly work: { readonly reads: Work; readonly acts: Work };
  readonly answers: Answers;
  readonly reads: Reads;
  readonly options: ApiOptions;
}

/** `/v1/x/{id}` as Fastify writes it. */
export const pathOf = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

function serve(app: FastifyInstance, route: AnyRoute, serving: Serving): void {
  const { backend, fleet, admission: admitting, work, answers, reads, options } = serving;
  const operation = new Operation(route);
  const isAnyRead = isRead(route);
  app.route({
    method: route.method,
    url: pathOf(route.path),
    config: { takesBody: route.body !== undefined },
    onRequest: async (request) => {
      await admitting.admit(request, route);
      request.incoming?.belongTo(request.principal.tenant);
    },
    handler: async (request, reply) => {
      const { principal, incoming, params, query, body } = request;
      // Answers of actions are small, and the action is done.
      if (isAnyRead) answers.check(principal.tenant);
      const traceparent = [request.headers.traceparent].flat()[0];
      const asked = operation.ask(
        { params, query, body, principal, traceparent, signal: gone(reply) },
        { backend, fleet },
      );
      // The outcome is recorded, also where the caller has left meanwhile.
      const answer = () => {
        const letGo = incoming?.hold();
        const onRead = (bytes: number) => void admitting.charge(request, bytes);
        return operation.answer(asked, { ...options, reads, onRead }).finally(letGo);
      };
      const { status, text } = await work[isAnyRead ? 'reads' : 'acts'].do(principal.tenant, asked.signal, answer);
      // Of many concurrent reads, others may have filled the room meanwhile.
      if (isAnyRead) answers.check(principal.tenant);
      answers.add(principal.tenant, reply.raw, Buffer.byteLength(text));
      return reply.code(status).header('cache-control', 'no-store').type('application/json').send(text);
    },
  });
}

function serveStream(
  app: FastifyInstance,
  stream: AnyStream,
  { backend, admission: admitting, options }: Serving,
  streams: Streams,
): void {
  app.route({
    method: 'GET',
    url: pathOf(stream.path),
    // HEAD would be answered as GET is, without end, and nobody would read it.
    exposeHeadRoute: false,
    onRequest: (request) => admitting.admit(request, stream),
    handler: async (request, reply) => {
      const { principal, headers } = request;
      const redaction = redactionOf(principal);
      const params = parsed('path', stream.params, request.params);
      const [lastId] = [headers['last-event-id']].flat();
      const call = {
        params,
        query: parsed('query', stream.query, request.query),
        ...{ principal, redaction, backend, streams, lastId },
      } as Follow<never, never>;
      const release = streams.admit(principal);
      try {
        const about = { route: stream, principal, showsContent: redaction.content, params, tenantOf: backend.tenantOf };
        const { following } = await audited(options.audit, about, async () => ({
          body: null,
          following: await stream.follow(call),
        }));
        if (following === null) return reply.code(204).header('cache-control', 'no-store').send();
        reply.hijack();
        const sink = streams.open(reply.raw, stream.formOf?.(call.query));
        reauthorise({ authenticator: options.authenticator, credentials: credentialsOf(request), principal, sink });
        await following(sink).catch((error: unknown) => sink.fail(error, options.onError));
      } finally {
        release();
      }
      return reply;
    },
  });
}

function gone(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort(new TidemarkError('caller-gone', 'The caller has disconnected.'));
  });
  return left.signal;
}

const addressTooLong = (): InvalidError =>
  new InvalidError('address-too-long', `The address is longer than ${URL_MAX_CHARS} characters.`);

/** Translates Fastify's own refusals. */
function frameworkError(error: unknown): unknown {
  if (error instanceof TidemarkError) return error;
  const { code, statusCode, message } = error as {
    readonly code?: string;
    readonly statusCode?: number;
    readonly message?: string;
  };
  // The router comes before the guard.
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return addressTooLong();
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new InvalidError('body-type-unknown', 'Content-Type: only application/json is served.');
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new InvalidError('request-invalid', `The request is wrong: ${message ?? 'it can not be read'}.`);
  }
  return error;
}

function sendProblem(reply: FastifyReply, error: unknown, { onError }: ApiOptions): void {
  const reported = reportedOf(error);
  if (reported.isFault) onError?.('api', error);
  if (reported.retryAfterS !== undefined) reply.header('retry-after', String(reported.retryAfterS));
  // The rest of a refused request is not waited for.
  const { raw } = reply.request;
  if (hasBody(raw) && !raw.complete) reply.header('connection', 'close');
  if (reported.problem.status === 401) reply.header('www-authenticate', 'Bearer');
  void reply
    .code(reported.problem.status)
    .header('cache-control', 'no-store')
    // The caller's version may know a path that is unknown here.
    .header('tidemark-version', OWN_VERSION)
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(reported.problem));
}
