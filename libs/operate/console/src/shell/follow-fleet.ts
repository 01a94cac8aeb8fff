/** Owns following changes of any workflow, over as many connections as it takes. The lists are then read again. */

import { api, noteRefusal } from './client.ts';

/** Pause between two connections, in milliseconds. */
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
