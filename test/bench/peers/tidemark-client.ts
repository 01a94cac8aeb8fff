/** Owns the measured client of a Tidemark cluster: a process that starts workflows and looks at the rows. */

import { configFromEnv, openCluster } from '@tidemark/host';
import { runSteps, wakeAll } from './tidemark-runs.ts';
import { serve } from './workspace/child.ts';

const host = await openCluster(configFromEnv(process.env));
serve({ run: (request) => runSteps(host, request), wake: (request) => wakeAll(host, request) });
