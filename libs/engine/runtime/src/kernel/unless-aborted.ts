/** Owns waiting for work that may not heed the signal it was given. Must not end the work itself. */

/** A step that doesn't heed its signal must hold neither the lease nor the worker: nothing that it does later counts. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const leave = (): void => reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  work.then(resolve, reject);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
