/** Owns the measured worker of Temporal: the workflow and its activity on one task queue. */

import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, CONCURRENCY, type Given } from './protocol.ts';
import { doStep } from './step.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: required(ADDRESS_VARIABLE) }),
  taskQueue: 'bench',
  workflowsPath: fileURLToPath(new URL('./temporal-workflow.ts', import.meta.url)),
  activities: { step: async (given: Given, n: number, previous: string) => doStep(given, n, previous) },
  maxConcurrentWorkflowTaskExecutions: CONCURRENCY,
  maxConcurrentActivityTaskExecutions: CONCURRENCY,
  maxCachedWorkflows: CONCURRENCY,
});
void worker.run();
serve();
