/** Owns the guide on sagas: undoing in a catch block, which nobody runs when the process dies. */

import { ask } from './outside.ts';

export async function bookInOneGo(trip: string): Promise<string[]> {
  const undo: (() => Promise<unknown>)[] = [];
  try {
    const flight = await ask(`flight ${trip}`);
    undo.unshift(() => ask(`cancel ${flight}`));
    const hotel = await ask(`hotel ${trip}`);
    undo.unshift(() => ask(`cancel ${hotel}`));
    const car = await ask(`car ${trip}`);
    return [flight, hotel, car];
  } catch (error) {
    for (const each of undo) await each(); // dies here? Then the flight stays booked, and nobody knows
    throw error;
  }
}
