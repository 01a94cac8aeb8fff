/**
 * Owns a real server with OpenAI's chat completions, whole and as server-sent events, that answers as the test says: texts,
 * tool calls, refusals, and each way of breaking.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ChatAnswer {
  readonly id?: string;
  readonly reasoning?: string;
  readonly text?: string;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finishReason?: string;
  readonly usage?: Readonly<Record<string, unknown>>;
}

/** What the server does with one request. */
export type Behaviour =
  | { readonly kind: 'answer'; readonly answer: ChatAnswer }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  /** Answers with the values of the request's headers. */
  | { readonly kind: 'echo'; readonly status: number }
  /** Sends the first pieces of the answer's stream, then destroys the connection (`reset`), or ends as if all was well. */
  | { readonly kind: 'cut'; readonly answer: ChatAnswer; readonly pieces: number; readonly how: 'reset' | 'end' }
  /** Sends the first pieces, then an error in the stream. */
  | { readonly kind: 'error-piece'; readonly answer: ChatAnswer; readonly pieces: number; readonly error: object }
  /** A body that is no JSON; as a stream, a piece that is none. */
  | { readonly kind: 'no-json' }
  /** Sends the first pieces, and nothing more until the client goes. */
  | { readonly kind: 'hang'; readonly answer: ChatAnswer; readonly pieces: number };

export interface ChatRequest {
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ChatServer {
  readonly url: string;
  readonly requests: readonly ChatRequest[];
  /** Answers of the next requests, in order; the last one stays. */
  script(...behaviours: Behaviour[]): void;
  close(): Promise<void>;
}

const MODEL = 'gpt-4o-mini-2024-07-18';
const CREATED_S = 1_760_000_000;

export async function startChatServer(): Promise<ChatServer> {
  const requests: ChatRequest[] = [];
  let behaviours: Behaviour[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      const seen = { headers: request.headers, body };
      requests.push(seen);
      const behaviour = behaviours.length > 1 ? behaviours.shift() : behaviours[0];
      behave(behaviour ?? { kind: 'status', status: 501 }, seen, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    script: (...next) => {
      behaviours = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function behave(behaviour: Behaviour, { headers, body }: ChatRequest, response: ServerResponse): void {
  const isStreamed = body.stream === true;
  switch (behaviour.kind) {
    case 'answer':
      if (isStreamed) send(response, piecesOf(behaviour.answer), true);
      else sendJson(response, 200, wholeOf(behaviour.answer));
      return;
    case 'status':
      response.writeHead(behaviour.status, { 'content-type': 'application/json', ...behaviour.headers });
      response.end(behaviour.body ?? '');
      return;
    case 'echo': {
      const message = `Refused a request with ${JSON.stringify(headers)}, authorization: ${headers.authorization}`;
      sendJson(response, behaviour.status, {
        error: { message, type: 'invalid_request_error', param: null, code: null },
      });
      return;
    }
    case 'no-json':
      response.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' });
      response.end(isStreamed ? 'data: <html>\n\n' : '<html>not today</html>');
      return;
    case 'cut':
      send(response, piecesOf(behaviour.answer).slice(0, behaviour.pieces), false);
      if (behaviour.how === 'end') response.end();
      else setImmediate(() => response.destroy());
      return;
    case 'error-piece':
      send(response, [...piecesOf(behaviour.answer).slice(0, behaviour.pieces), { error: behaviour.error }], true);
      return;
    case 'hang':
      send(response, piecesOf(behaviour.answer).slice(0, behaviour.pieces), false);
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function send(response: ServerResponse, pieces: readonly object[], isWhole: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of pieces) response.write(`data: ${JSON.stringify(piece)}\n\n`);
  if (isWhole) response.end('data: [DONE]\n\n');
}

const named = { id: 'chatcmpl-1', created: CREATED_S, model: MODEL };
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 40 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

function wholeOf({ id = named.id, reasoning, text, toolCalls = [], finishReason, usage = USAGE }: ChatAnswer): object {
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
        id,
        type: 'function',
        function: { name, arguments: given },
      })),
    }),
  };
  const finish_reason = finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
  return { ...named, id, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage };
}

/** The same answer in pieces: a word each, arguments in halves, then the reason and the usage. */
function piecesOf({ reasoning = '', text = '', toolCalls = [], finishReason, usage = USAGE }: ChatAnswer): object[] {
  const piece = (delta: object, finish: string | null = null): object => ({
    ...named,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const words = (whole: string): string[] => whole.match(/\S+\s*/g) ?? [];
  return [
    ...words(reasoning).map((word) => piece({ role: 'assistant', reasoning_content: word })),
    ...words(text).map((word) => piece({ role: 'assistant', content: word })),
    ...toolCalls.flatMap(({ id, name, arguments: given }, index) => {
      const half = Math.floor(given.length / 2);
      return [
        piece({ tool_calls: [{ index, id, function: { name, arguments: given.slice(0, half) } }] }),
        piece({ tool_calls: [{ index, function: { arguments: given.slice(half) } }] }),
      ];
    }),
    piece({}, finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop')),
    { ...named, object: 'chat.completion.chunk', choices: [], usage },
  ];
}
