/** Owns the measured service of Restate: a plain handler (no key, so no turns to wait for), one `ctx.run` a step; what is woken is a workflow. */

import { once } from 'node:events';
import { createServer } from 'node:http2';
import {
  type Context,
  createEndpointHandler,
  service,
  type WorkflowContext,
  type WorkflowSharedContext,
  workflow,
} from '@restatedev/restate-sdk';
import { required, serve } from './child.ts';
import { type Given, isWoken, WAKE, WORKER_PORT_VARIABLE } from './protocol.ts';
import { doStep } from './step.ts';

async function steps(ctx: Context, given: Given, woken?: () => PromiseLike<boolean>): Promise<string> {
  let payload = '';
  for (let n = 1; n <= given.steps; n++) {
    const previous = payload;
    if (isWoken(given, n)) await woken?.();
    payload = await ctx.run('step', () => doStep(given, n, previous));
  }
  return payload;
}

const bench = service({ name: 'bench', handlers: { steps: (ctx: Context, given: Given) => steps(ctx, given) } });

const sleeper = workflow({
  name: 'sleeper',
  handlers: {
    run: (ctx: WorkflowContext, given: Given) => steps(ctx, given, () => ctx.promise<boolean>(WAKE)),
    wake: (ctx: WorkflowSharedContext) => ctx.promise<boolean>(WAKE).resolve(true),
  },
});

const server = createServer(createEndpointHandler({ services: [bench, sleeper] }));
// The standby listens on the same port: the kernel hands connections to whoever lives, as a balancer before two pods would.
server.listen({ port: Number(required(WORKER_PORT_VARIABLE)), host: '127.0.0.1', reusePort: true });
await once(server, 'listening');
serve();
