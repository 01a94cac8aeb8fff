// Owns that the web console shows the run while this process is at it. Nothing waits for it, and without it the audit is the same.

import type { Host } from '@tidemark/host';
import { CONSOLE_AFTER_MS } from './limits.ts';
import type { Screen } from './screen.ts';
import { codebaseAudit } from './workflow.ts';

/** Tells its address once it is there. */
export function serveConsole(host: Host, screen: Screen): { close(): Promise<void> } {
  let serving: ReturnType<typeof listen> | undefined;
  const timer = setTimeout(() => {
    serving = listen(host);
    serving.then(
      ({ url }) => screen.line(`Console, while this runs: ${url}`),
      (error: unknown) => screen.line(`No console: ${error instanceof Error ? error.message : String(error)}`),
    );
  }, CONSOLE_AFTER_MS);
  return {
    async close() {
      clearTimeout(timer);
      const api = await serving?.catch(() => undefined);
      await api?.close();
    },
  };
}

/** For this machine alone. */
async function listen(host: Host) {
  const { builtConsole, DEFAULT_PORT, LOOPBACK_HOSTS, listenApi, localAuthenticator } = await import('@tidemark/api');
  return listenApi({
    ...{ place: host, definitions: [codebaseAudit], authenticator: localAuthenticator },
    ...{ hosts: LOOPBACK_HOSTS, host: '127.0.0.1', port: DEFAULT_PORT },
    consoleFolder: builtConsole(),
  });
}
