/** Owns hearing that some workflow changed, over as many connections as it takes. What changed is read from the lists again. */

import { api, noteRefusal } from './client.ts';

/** Between two connections, in milliseconds. */
const AGAIN_MS = 2_000;

/** Ends with the signal. */
export async function followFleet(changed: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of api.changes({ signal, onLost: changed })) changed();
    } catch (error) {
      noteRefusal(error);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    if (!signal.aborted) changed();
  }
}
