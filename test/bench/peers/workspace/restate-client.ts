/** Owns the client of Restate: one request a workflow to the server's ingress, answered when the workflow has ended. */

import { connect } from '@restatedev/restate-sdk-clients';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, type Given, givenOf } from './protocol.ts';

type Bench = { steps: (context: unknown, given: Given) => Promise<string> };

const ingress = connect({ url: required(ADDRESS_VARIABLE) });
const bench = ingress.serviceClient<Bench>({ name: 'bench' });

serve({ run: async (request) => void (await Promise.all(givenOf(request).map((given) => bench.steps(given)))) });
