/**
 * Owns what stands in the guides for services outside: mail, payments, bookings, a model. It takes each key once, as real ones do, and tells
 * what it was asked. Must know nothing of workflows.
 */

import { NotDoneError } from '@tidemark/sdk';

const asked: string[] = [];
const taken = new Map<string, string>();
const refused = new Set<string>();

/** Does it, and gives an id; with a key once, however often it comes. What was told to be refused is refused. */
export async function ask(what: string, key?: string): Promise<string> {
  const known = key === undefined ? undefined : taken.get(key);
  if (known !== undefined) return known;
  if (refused.has(what)) throw new NotDoneError(`${what}: refused`);
  asked.push(what);
  const id = `${what.split(' ')[0]}-${asked.length}`;
  if (key !== undefined) taken.set(key, id);
  return id;
}

/** What was done under the key. */
export const doneUnder = (key: string): string | undefined => taken.get(key);

/** Stands for a model: a rule that answers at once. */
export async function complete(prompt: string): Promise<string> {
  asked.push(`model ${prompt.split('\n')[0]}`);
  return /refund|charged/i.test(prompt) ? 'billing' : 'other';
}

/** Stands for a shop: the number of the order is what it cost. */
export async function orderOf(order: string): Promise<{ cents: number; items: { item: string; cents: number }[] }> {
  const cents = Number(order.replace(/\D/g, ''));
  return { cents, items: ['shoes', 'laces'].map((item) => ({ item: `${order}/${item}`, cents: cents / 2 })) };
}

export const refuse = (what: string): void => void refused.add(what);

/** All that was asked since the last look, in order. */
export const lookOutside = (): readonly string[] => asked.splice(0);
