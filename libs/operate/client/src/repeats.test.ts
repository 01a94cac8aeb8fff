/** What is sent again when an answer was lost: only what then counts once. */

import { describe, expect, it } from 'vitest';
import { connect } from './client.ts';

type Run = ReturnType<ReturnType<typeof connect>['run']>;

/** How often it was sent by a client all of whose answers are lost. */
async function tried(work: (run: Run) => Promise<unknown>): Promise<number> {
  let count = 0;
  const lost = async (): Promise<Response> => {
    count++;
    throw new TypeError('the connection broke');
  };
  await work(connect({ url: 'http://127.0.0.1:1', fetch: lost, tries: 2 }).run('w')).catch(() => {});
  return count;
}

describe('an answer that was lost', () => {
  it('has a decision on a question that is named made again: it counts once', async () => {
    expect(await tried((run) => run.decide({ resolution: 'retry', why: 'again', question: 'park:1' }))).toBe(2);
  });

  it('has none made again that answers whatever is open: the next question may be by then', async () => {
    expect(await tried((run) => run.decide({ resolution: 'not-done', why: 'the bank says so' }))).toBe(1);
  });

  it('has a signal sent again, under the key that it had', async () => {
    expect(await tried((run) => run.signal('go'))).toBe(2);
  });
});
