/** Owns the guide on LangGraph's graphs over Tidemark's checkpointer: the graph stays as it is. */

import { openEmbedded } from '@tidemark/host';
import { TidemarkSaver } from '@tidemark/langgraph';
import { ticketGraph } from './langgraph-before.ts';

/** A folder is one process's; a fleet opens its cluster: openCluster(configFromEnv(process.env)). */
export async function openTickets(folder: string) {
  const host = await openEmbedded({ folder });
  const graph = ticketGraph(new TidemarkSaver(host)); // was: new MemorySaver()
  return { graph, close: () => host.close() };
}
