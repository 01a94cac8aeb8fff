/** Owns the measured process of DBOS, which is a library: it starts the workflows and runs them. One `runStep` a step. */

import { DBOS } from '@dbos-inc/dbos-sdk';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, type Given, givenOf, isWoken, type RunRequest, STANDBY_VARIABLE, WAKE } from './protocol.ts';
import { doStep } from './step.ts';

/** By default a wait ends after a minute. */
const WAIT_MAX_S = 3_600;

const steps = DBOS.registerWorkflow(
  async (given: Given): Promise<string> => {
    let payload = '';
    for (let n = 1; n <= given.steps; n++) {
      const previous = payload;
      if (isWoken(given, n)) await DBOS.recv(WAKE, WAIT_MAX_S);
      payload = await DBOS.runStep(async () => doStep(given, n, previous), { name: 'step' });
    }
    return payload;
  },
  { name: 'steps' },
);

DBOS.setConfig({
  name: 'bench-peers',
  systemDatabaseUrl: required(ADDRESS_VARIABLE),
  logLevel: 'error',
  // A successor takes the dead one's name: without the Conductor service that is how its workflows are found.
  executorID: 'bench',
  applicationVersion: '1',
});

async function run(request: RunRequest): Promise<void> {
  const handles = await Promise.all(
    givenOf(request).map((given) => DBOS.startWorkflow(steps, { workflowID: given.id })(given)),
  );
  await Promise.all(handles.map((handle) => handle.getResult()));
}

async function wake(request: RunRequest): Promise<void> {
  await Promise.all(givenOf(request).map(({ id }) => DBOS.send(id, true, WAKE)));
}

if (process.env[STANDBY_VARIABLE] !== 'yes') await DBOS.launch();
// At its launch it takes up what was pending under its name.
serve({ run, wake, takeOver: () => DBOS.launch() });
