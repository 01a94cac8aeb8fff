/** Owns the ports of a process whose appends to the log a test changes: it dies at one, or the log is away for some. */

import type { Ports } from '@tidemark/runtime';

/** `change` gets each append as a call, and how many there were up to it. */
export function changedAppends(
  ports: Ports,
  change: (append: () => Promise<unknown>, count: number) => Promise<void>,
): Ports {
  const { log } = ports;
  let count = 0;
  const append: typeof log.append = async (...given) => {
    let made: ReturnType<typeof log.append> | undefined;
    await change(() => (made = log.append(...given)), ++count);
    return made ?? log.append(...given);
  };
  const bound = (of: object, key: string | symbol): unknown => {
    const value = Reflect.get(of, key) as unknown;
    return typeof value === 'function' ? value.bind(of) : value;
  };
  return { ...ports, log: new Proxy(log, { get: (of, key) => (key === 'append' ? append : bound(of, key)) }) };
}

/** The process dies at its so-manieth append: before the log has it, or after. */
export const dyingAt = (ports: Ports, at: number, isKept: boolean): Ports =>
  changedAppends(ports, async (append, count) => {
    if (count < at) return;
    if (count === at && isKept) await append();
    throw new Error('killed');
  });
