/** Owns the client of Temporal: starts workflows and awaits each one's result. */

import { Client, Connection } from '@temporalio/client';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, givenOf, WAKE } from './protocol.ts';

const client = new Client({ connection: await Connection.connect({ address: required(ADDRESS_VARIABLE) }) });

serve({
  run: async (request) => {
    const runs = givenOf(request).map((given) =>
      client.workflow.execute('steps', { taskQueue: 'bench', workflowId: given.id, args: [given] }),
    );
    await Promise.all(runs);
  },
  wake: async (request) => {
    await Promise.all(givenOf(request).map(({ id }) => client.workflow.getHandle(id).signal(WAKE)));
  },
});
