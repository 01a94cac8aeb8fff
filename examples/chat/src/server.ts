// `node examples/chat/src/server.ts`: the page, and what it asks. The page never sees the API of Tidemark, nor a credential for it.
// PORT (8080), and TIDEMARK_URL (http://127.0.0.1:7070) with TIDEMARK_TOKEN.

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { connect } from '@tidemark/client';
import { build, type Rolldown } from 'vite';

const QUESTION_MAX_BYTES = 64 * 1_024;
const PAGE = path.resolve(import.meta.dirname, '../page');

const { PORT = '8080', TIDEMARK_URL = 'http://127.0.0.1:7070', TIDEMARK_TOKEN } = process.env;
const client = connect({ url: TIDEMARK_URL, ...(TIDEMARK_TOKEN !== undefined && { token: TIDEMARK_TOKEN }) });

const script = await bundled();

createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    // A page whose connection is cut off in the middle resumes.
    if (response.headersSent) response.destroy();
    else response.writeHead(503).end(String(error));
  });
}).listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '/' } = request;
  const [, id] = /^\/api\/chat\/([\w-]{1,100})\/stream$/.exec(url) ?? [];
  if (method === 'POST' && url === '/api/chat') await passOn(await ask(request), response);
  else if (method === 'GET' && id !== undefined) await passOn(id, response);
  else if (url === '/page.js') response.setHeader('content-type', 'text/javascript').end(script);
  else if (url === '/') response.setHeader('content-type', 'text/html').end(await readFile(`${PAGE}/index.html`));
  else response.writeHead(404).end();
}

/** Starts a run for the question, under the chat's id: the same question sent again starts nothing. */
async function ask(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
    if (text.length > QUESTION_MAX_BYTES) throw new Error('The question is too long.');
  }
  const { id, messages } = JSON.parse(text) as { id: string; messages: { parts: { text?: string }[] }[] };
  const question =
    messages
      .at(-1)
      ?.parts.map((part) => part.text ?? '')
      .join('') ?? '';
  return (await client.start('chat', { question }, { id })).id;
}

async function passOn(id: string, response: ServerResponse): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  const upstream = await fetch(`${TIDEMARK_URL}/v1/workflows/${id}/stream?format=ui-message`, {
    headers: TIDEMARK_TOKEN === undefined ? {} : { authorization: `Bearer ${TIDEMARK_TOKEN}` },
    signal: left.signal,
  });
  if (!upstream.ok || upstream.body === null) throw new Error(await upstream.text());
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-vercel-ai-ui-message-stream': 'v1',
  });
  await pipeline(upstream.body, response);
}

/** The page's script with the AI SDK, as one file. */
async function bundled(): Promise<string> {
  const entry = { entry: `${PAGE}/page.js`, formats: ['es' as const] };
  const built = await build({ root: PAGE, logLevel: 'warn', configFile: false, build: { write: false, lib: entry } });
  const [{ output }] = built as Rolldown.RolldownOutput[] as [Rolldown.RolldownOutput];
  return output[0].code;
}
