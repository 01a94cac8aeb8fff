/** Owns the guide on sessions of the Claude Agent SDK over Tidemark: what queries are given, and what a host does when it stops. */

import { type SessionStore, TidemarkSessionStore } from '@tidemark/claude-sessions';
import { openEmbedded } from '@tidemark/host';

/** `query` is the framework's. A folder is one process's; a fleet opens its cluster: openCluster(configFromEnv(process.env)). */
export async function openAgent<Answer>(
  folder: string,
  query: (of: { prompt: string; options: { sessionStore: SessionStore; resume?: string } }) => Answer,
) {
  const host = await openEmbedded({ folder });
  const sessionStore = new TidemarkSessionStore(host);
  return {
    ask: (prompt: string, resume?: string) =>
      query({ prompt, options: { sessionStore, ...(resume !== undefined && { resume }) } }),
    stop: async () => {
      await sessionStore.flush(); // what waits for the log
      await host.close();
    },
  };
}
