/** Owns the measured client of a Tidemark cluster: a process that starts workflows and looks at the rows. */

import { configFromEnv, openCluster } from '@tidemark/host';
import { serve } from './peers/child.ts';
import { runSteps } from './peers-tidemark-runs.ts';

const host = await openCluster(configFromEnv(process.env));
serve({ run: (request) => runSteps(host, request) });
