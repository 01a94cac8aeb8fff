/** Owns the guide on moving a plain script: what people write first, with a file that says how far it got. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { ask } from './outside.ts';

export async function remindAll(customers: readonly string[], stateFile: string): Promise<number> {
  const done: string[] = existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, 'utf8')) : [];
  for (const customer of customers) {
    if (done.includes(customer)) continue;
    const text = await ask(`draft ${customer}`);
    await ask(`mail ${customer}: ${text}`); // dies right after this line? Then this customer gets two letters
    done.push(customer);
    writeFileSync(stateFile, JSON.stringify(done));
  }
  return done.length;
}
