/** Owns the guide on agents of the OpenAI Agents SDK over Tidemark's session: the agent stays as it is. */

import { type Agent, Runner } from '@openai/agents-core';
import { openEmbedded } from '@tidemark/host';
import { TidemarkSession } from '@tidemark/openai-agents';

const runner = new Runner({ tracingDisabled: true });

/** A folder is one process's; a fleet opens its cluster: openCluster(configFromEnv(process.env)). */
export async function openChat(folder: string, agent: Agent, sessionId: string) {
  const host = await openEmbedded({ folder });
  const session = new TidemarkSession(host, { sessionId }); // was: new MemorySession({ sessionId })
  return {
    say: async (text: string) => (await runner.run(agent, text, { session })).finalOutput,
    close: () => host.close(),
  };
}
