/** Owns the measured service of Restate: a plain handler (no key, so no turns to wait for), one `ctx.run` a step. */

import { once } from 'node:events';
import { createServer } from 'node:http2';
import { type Context, createEndpointHandler, service } from '@restatedev/restate-sdk';
import { required, serve } from './child.ts';
import { type Given, WORKER_PORT_VARIABLE } from './protocol.ts';
import { doStep } from './step.ts';

const bench = service({
  name: 'bench',
  handlers: {
    steps: async (ctx: Context, given: Given): Promise<string> => {
      let payload = '';
      for (let n = 1; n <= given.steps; n++) {
        const previous = payload;
        payload = await ctx.run('step', () => doStep(given, n, previous));
      }
      return payload;
    },
  },
});

const server = createServer(createEndpointHandler({ services: [bench] }));
// The standby listens on the same port: the kernel hands connections to whoever lives, as a balancer before two pods would.
server.listen({ port: Number(required(WORKER_PORT_VARIABLE)), host: '127.0.0.1', reusePort: true });
await once(server, 'listening');
serve();
