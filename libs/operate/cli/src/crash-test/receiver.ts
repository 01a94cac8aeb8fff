/**
 * Owns the fake receiver of `tidemark crash-test`: an HTTP server on this machine that answers by rules, notes each call without its content,
 * and says when a call comes to one of its three moments. What it notes of bodies and keys are digests.
 */

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { maskSecrets } from '@tidemark/secrets';
import type { AnswerRule, ScriptedAnswer } from './answers.ts';
import { modelAnswer } from './scripted-model.ts';

/** Largest body of a call, in bytes. */
export const BODY_MAX_BYTES = 8_388_608;
/** Calls that one run may make. */
export const CALLS_MAX_COUNT = 1_000;
/** Longest path that is shown, in characters. */
const PATH_MAX_CHARS = 200;
/** After an answer was sent: the time, in milliseconds, in which a process may read it and begin to keep it, before it is killed. */
const ANSWERED_MS = 2;

/** Nothing of the call has been noted; noted, not answered; answered. */
export const MOMENTS = ['unreceived', 'unanswered', 'answered'] as const;
export type Moment = (typeof MOMENTS)[number];

export interface Call {
  /** `POST /charges`: method and path, without a query; secrets in it are masked. */
  readonly what: string;
  /** Of method, path with its query, and body. */
  readonly request: string;
  /** Of the header `Idempotency-Key`, where it has one. */
  readonly key: string | null;
  /** A read changes nothing, by its method; an answer of a model is paid for, and changes nothing either. */
  readonly kind: 'read' | 'model' | 'write';
  readonly atMs: number;
}

/** True: the process was killed there. Called without anything in between. */
export type OnMoment = (moment: Moment, number: number) => boolean;

export interface ReceiverOptions {
  readonly answers: readonly AnswerRule[];
  /** Of the scripted model; undefined: there is none. */
  readonly model: readonly ScriptedAnswer[] | undefined;
}

export class Receiver {
  readonly url: string;
  readonly #server: Server;
  readonly #options: ReceiverOptions;
  #calls: Call[] = [];
  #onMoment: OnMoment = () => false;

  private constructor(server: Server, options: ReceiverOptions) {
    this.#server = server;
    this.#options = options;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      this.#receive(request, response).catch(() => response.destroy());
    });
  }

  /** On a free port of this machine alone. */
  static async open(options: ReceiverOptions): Promise<Receiver> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
    return new Receiver(server, options);
  }

  /** The calls from now on, in the order of their arrival; the list grows. A call's number counts from 1. */
  record(onMoment: OnMoment = () => false): readonly Call[] {
    this.#calls = [];
    this.#onMoment = onMoment;
    return this.#calls;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    if (body === undefined) return refuse(response, 413, `A body may have ${BODY_MAX_BYTES} bytes.`);
    const [calls, onMoment] = [this.#calls, this.#onMoment];
    const number = calls.length + 1;
    if (number > CALLS_MAX_COUNT) return refuse(response, 429, `A run may make ${CALLS_MAX_COUNT} calls.`);
    if (onMoment('unreceived', number)) return void response.destroy();
    const { method = 'GET', url = '/' } = request;
    const path = url.split('?', 1)[0]!;
    const { model } = this.#options;
    const answer = model !== undefined && method === 'POST' ? modelAnswer(model, path, body) : undefined;
    const isRead = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    const key = request.headers['idempotency-key'];
    calls.push({
      what: `${method} ${maskSecrets(path).slice(0, PATH_MAX_CHARS)}`,
      // A program may tell a model of clocks and folders: what it asks for is the next answer.
      request: answer?.at === undefined ? digestOf(method, url, body) : digestOf('model', String(answer.at)),
      key: key === undefined ? null : digestOf(String(key)),
      kind: isRead ? 'read' : answer ? 'model' : 'write',
      atMs: performance.now(),
    });
    if (onMoment('unanswered', number)) return void response.destroy();
    response.once('finish', () => void wait(ANSWERED_MS).then(() => onMoment('answered', number)));
    const { status, headers, text } = answer || ruleAnswer(this.#options.answers, method, path);
    response.writeHead(status, headers).end(text);
  }
}

/** Undefined: too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // The rest is read and dropped, so that the answer is too.
    if (size <= BODY_MAX_BYTES) chunks.push(chunk);
  }
  return size > BODY_MAX_BYTES ? undefined : Buffer.concat(chunks);
}

const JSON_HEADERS = { 'content-type': 'application/json' };

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, JSON_HEADERS).end(JSON.stringify({ error: { message: `crash-test: ${message}` } }));
}

function ruleAnswer(rules: readonly AnswerRule[], method: string, path: string) {
  const rule = rules.find(
    (each) =>
      (each.method === undefined || each.method === method) &&
      (each.path === undefined ||
        (each.path.endsWith('*') ? path.startsWith(each.path.slice(0, -1)) : path === each.path)),
  );
  return { status: rule?.status ?? 200, headers: JSON_HEADERS, text: JSON.stringify(rule?.body ?? {}) };
}

function digestOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest('base64url');
}
