/** Owns the client of Restate: one request a workflow to the server's ingress, answered when the workflow has ended. */

import { connect } from '@restatedev/restate-sdk-clients';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, type Given, givenOf, type RunRequest } from './protocol.ts';

type Bench = { steps: (context: unknown, given: Given) => Promise<string> };
type Sleeper = {
  run: (context: unknown, given: Given) => Promise<string>;
  wake: (context: unknown) => Promise<void>;
};

const ingress = connect({ url: required(ADDRESS_VARIABLE) });
const bench = ingress.serviceClient<Bench>({ name: 'bench' });

const sleeperOf = ({ id }: Given) => ingress.workflowClient<Sleeper>({ name: 'sleeper' }, id);

async function sleep(given: Given): Promise<void> {
  const sleeper = sleeperOf(given);
  await sleeper.workflowSubmit(given);
  await sleeper.workflowAttach();
}

async function run(request: RunRequest): Promise<void> {
  const one = async (given: Given): Promise<unknown> => (given.mode === 'woken' ? sleep(given) : bench.steps(given));
  await Promise.all(givenOf(request).map(one));
}

serve({
  run,
  wake: async (request) => void (await Promise.all(givenOf(request).map((given) => sleeperOf(given).wake()))),
});
