/** Owns the batching of single requests: those that arrive while a batch runs go into the next one. */

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that answers one request. Requests go out in batches of at most `maxCount`, one batch at a time. `perform` answers in
 * the order of the requests; when it throws, every request of the batch fails with that error.
 */
export function batched<Request, Answer>(
  maxCount: number,
  perform: (requests: readonly Request[]) => Promise<readonly Answer[]>,
): (request: Request) => Promise<Answer> {
  let waiting: Waiting<Request, Answer>[] = [];
  let busy = false;
  const drain = async (): Promise<void> => {
    // Let the rest of this turn's requests arrive first.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxCount);
      waiting = waiting.slice(maxCount);
      try {
        const answers = await perform(batch.map((entry) => entry.request));
        for (const [index, entry] of batch.entries()) entry.resolve(answers[index] as Answer);
      } catch (error) {
        for (const entry of batch) entry.reject(error);
      }
    }
    busy = false;
  };
  return (request) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      if (busy) return;
      busy = true;
      void drain();
    });
}

/** The same of what has keys: equal ones are asked for once. Undefined: nothing has the key. */
export const batchedByKey = <Key, Value>(
  maxCount: number,
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): ((key: Key) => Promise<Value | undefined>) =>
  batched(maxCount, async (keys) => {
    const found = await read([...new Set(keys)]);
    return keys.map((key) => found.get(key));
  });
