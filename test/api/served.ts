/** Owns an embedded host that serves the API for tests, with workflows that do one thing each, and its end. */

import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ApiOptions, createApi, localAuthenticator } from '@tidemark/api';
import { AccessError, tenantId } from '@tidemark/core';
import { type Host, openEmbedded } from '@tidemark/host';
import type { Authenticator, Role } from '@tidemark/ports';
import type { Definition } from '@tidemark/runtime';
import { approval, child, defineEffect, defineWorkflow, signal, task, unknown } from '@tidemark/sdk';
import { z } from 'zod';

/** Two steps, and it is done. */
export const greet = defineWorkflow({
  name: 'greet',
  version: 1,
  input: z.object({ name: z.string() }),
  limits: ({ name }) => [{ key: `guest:${name}`, concurrency: 1_000 }],
  belief: z.object({ greeting: z.string().optional() }),
  output: z.object({ text: z.string() }),
  tasks: { compose: z.object({ name: z.string() }), say: z.object({ text: z.string() }) },
  flow: { compose: ['say'], say: [] },
  begin: ({ name }) => ({ belief: {}, next: [task('compose', { name })] }),
  steps: {
    compose(_, { name }) {
      const greeting = `Hello, ${name}!`;
      return { belief: (b) => ({ ...b, greeting }), next: [task('say', { text: greeting })], lastAction: 'composed' };
    },
    say: (_, { text }) => ({ done: { text } }),
  },
});

/** Waits for the signal `go`, as often as it is told to. */
export const patient = defineWorkflow({
  name: 'patient',
  version: 1,
  input: z.object({ times: z.number().int().min(1).default(1) }),
  belief: z.object({ heard: z.array(z.json()) }),
  output: z.object({ heard: z.array(z.json()) }),
  signals: { go: z.json() },
  tasks: { listen: z.object({ left: z.number() }) },
  flow: { listen: ['listen'] },
  begin: ({ times }) => ({ belief: { heard: [] }, next: [task('listen', { left: times }, { when: signal('go') })] }),
  steps: {
    listen(ctx, { left }) {
      const heard = [...ctx.belief.heard, ctx.cause?.kind === 'signal' ? ctx.cause.value : null];
      if (left <= 1) return { done: { heard } };
      return { belief: () => ({ heard }), next: [task('listen', { left: left - 1 }, { when: signal('go') })] };
    },
  },
});

/** Goes on with a fresh history as often as it is told to, and then waits for the signal `go`. */
export const turning = defineWorkflow({
  name: 'turning',
  version: 1,
  input: z.object({ left: z.number().int() }),
  belief: z.object({}),
  output: z.object({ said: z.string() }),
  signals: { go: z.string() },
  tasks: { turn: z.object({}), end: z.object({}) },
  flow: { turn: ['end'], end: [] },
  starts: ['turn'],
  begin: () => ({ belief: {}, next: [task('turn', {})] }),
  steps: {
    turn: ({ input: { left } }) =>
      left > 0 ? { continueAsNew: { left: left - 1 } } : { next: [task('end', {}, { when: signal('go') })] },
    end: ({ cause }) => ({ done: { said: cause?.kind === 'signal' ? cause.value : '' } }),
  },
});

/** Nobody ever learns whether it happened: a person is asked. */
const wire = defineEffect({
  operation: 'bank.wire',
  kind: 'irreversible',
  request: z.object({ cents: z.number() }),
  response: z.object({ receipt: z.string() }),
  call: () => {
    throw new Error('the line went dead');
  },
  probe: () => unknown(),
  retry: { attempts: 1 },
});

export const asking = defineWorkflow({
  name: 'asking',
  version: 1,
  input: z.object({ cents: z.number() }),
  belief: z.object({}),
  output: z.object({ receipt: z.string() }),
  tasks: { pay: z.object({ cents: z.number() }) },
  flow: { pay: [] },
  effects: [wire],
  begin: ({ cents }) => ({ belief: {}, next: [task('pay', { cents })] }),
  steps: {
    async pay(ctx, { cents }) {
      const { receipt } = await ctx.effect(wire, { cents });
      return { done: { receipt } };
    },
  },
});

/** Asks whoever its input names, and ends with who answered. */
export const askSomebody = defineWorkflow({
  name: 'ask-somebody',
  version: 1,
  input: z.object({ assignee: z.string().optional() }),
  belief: z.object({}),
  output: z.object({ by: z.string() }),
  tasks: { hear: z.object({}) },
  flow: { hear: [] },
  approvals: { pay: z.object({ cents: z.int() }) },
  begin: ({ assignee }) => ({
    belief: {},
    next: [task('hear', {}, { when: approval('pay', { assignee, title: 'Pay?', detail: { cents: 5 } }) })],
  }),
  steps: { hear: ({ cause }) => ({ done: { by: cause?.kind === 'approval' ? cause.by : 'nobody' } }) },
});

/** Has that one as its child, and ends as it does. */
export const family = defineWorkflow({
  name: 'family',
  version: 1,
  input: z.object({ assignee: z.string().optional() }),
  belief: z.object({}),
  output: z.object({ by: z.string() }),
  tasks: { tell: z.object({}) },
  flow: { tell: [] },
  children: { ask: askSomebody },
  begin: (input) => ({ belief: {}, next: [task('tell', {}, { when: child('ask', input) })] }),
  steps: {
    tell: ({ cause }) =>
      cause?.kind === 'child' && cause.outcome === 'completed'
        ? { done: { by: cause.output.by } }
        : { done: { by: 'nobody' } },
  },
});

/** `Bearer ROLE TENANT NAME…`: whoever it says, by these names besides. */
export const sayingAuthenticator: Authenticator = {
  async authenticate({ authorization }) {
    const [, role, tenant, names] = /^Bearer (\w+)(?: (\S+)((?: \S+)*))?$/.exec(authorization ?? '') ?? [];
    if (role === undefined) throw new AccessError('credentials-missing', 'Show credentials.');
    const kind = 'key' as const;
    return {
      subject: `${role}-of-${tenant}`,
      tenant: tenant === undefined ? null : tenantId(tenant),
      roles: [role as Role],
      kind,
      names: names?.split(' ').slice(1),
    };
  },
};

export interface Served {
  readonly host: Host;
  readonly app: Awaited<ReturnType<typeof createApi>>;
  readonly folder: string;
  readonly definitions: readonly Definition[];
  /** Where it listens. */
  readonly url: string;
  /** Connections on which a stream is open. */
  readonly streams: ReadonlySet<Socket>;
  close(how?: { readonly keepsFolder: boolean }): Promise<void>;
}

export interface ServedOptions extends Partial<Omit<ApiOptions, 'place' | 'definitions'>> {
  readonly definitions?: readonly Definition[];
  readonly folder?: string;
  readonly runs?: boolean;
  readonly port?: number;
  /** The key of secret fields is a new file of the folder. */
  readonly secrets?: boolean;
}

export async function serveApi({
  folder,
  runs = true,
  port = 0,
  secrets = false,
  ...options
}: ServedOptions = {}): Promise<Served> {
  const root = folder ?? (await mkdtemp(path.join(tmpdir(), 'tidemark-api-')));
  const keyFile = path.join(root, 'secrets.json');
  const host = await openEmbedded({
    folder: path.join(root, 'state'),
    ...(secrets && { secretsUrl: pathToFileURL(keyFile).href }),
  });
  const { definitions = [greet, patient, asking] } = options;
  if (runs) await host.startWorker({ definitions, concurrency: 50 });
  const app = await createApi({
    place: host,
    definitions,
    authenticator: localAuthenticator,
    checksAnswers: true,
    rateMaxCount: 1_000_000,
    onError: (where, error) =>
      process.stderr.write(`${where}: ${error instanceof Error ? error.stack : String(error)}\n`),
    ...options,
  });
  const streams = new Set<Socket>();
  app.server.prependListener('request', ({ url: asked = '', socket }: IncomingMessage, response: ServerResponse) => {
    if (!/\/events(\?|$)/.test(asked)) return;
    const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => ServerResponse;
    response.writeHead = (...head: unknown[]) => {
      if (!socket.destroyed) streams.add(socket);
      return writeHead(...head);
    };
    response.once('close', () => streams.delete(socket));
  });
  const url = await app.listen({ host: '127.0.0.1', port });
  return {
    ...{ host, app, folder: root, url, streams, definitions },
    async close({ keepsFolder } = { keepsFolder: false }) {
      await app.close();
      await host.close();
      if (!keepsFolder) await rm(root, { recursive: true, force: true });
    },
  };
}
