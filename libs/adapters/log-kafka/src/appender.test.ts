/** Owns the tests of the appender above a client whose answers the tests give: lanes, group commit, doubt, giving up. */

import { type Offset, partition } from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import { eventually } from '@tidemark/testkit/eventually';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type AppendAnswer, answerOf, noAnswer } from './answers.ts';
import type { AppendClient, LaneKind, PartitionBatch } from './append-client.ts';
import { Appender, type Leaders } from './appender.ts';
import { defaultLimits, type KafkaLogLimits } from './limits.ts';
import type { BrokerNode } from './wire-partitions.ts';

interface Request {
  readonly leader: BrokerNode;
  readonly lane: LaneKind;
  readonly batches: readonly PartitionBatch[];
  answer(...answers: AppendAnswer[]): void;
}

const one: BrokerNode = { nodeId: 1, host: 'one', port: 1 };
const two: BrokerNode = { nodeId: 2, host: 'two', port: 2 };
const stored = (baseOffset: number): AppendAnswer => ({ kind: 'stored', baseOffset });
const tooLarge = answerOf('t', 0, 10, -1);

class HandClient implements AppendClient {
  readonly requests: Request[] = [];
  isClosed = false;

  append(leader: BrokerNode, lane: LaneKind, batches: readonly PartitionBatch[]): Promise<readonly AppendAnswer[]> {
    const { promise, resolve } = Promise.withResolvers<readonly AppendAnswer[]>();
    this.requests.push({ leader, lane, batches, answer: (...answers) => resolve(answers) });
    return promise;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** The request with this number, once it was sent. */
  async sent(number: number): Promise<Request> {
    return eventually(() => this.requests[number], { what: `request ${number}` });
  }
}

class HandLeaders implements Leaders {
  readonly byPartition = new Map<number, BrokerNode>();
  refreshCount = 0;
  missingForMs = 0;
  leaderOf(number: number): BrokerNode | undefined {
    return this.byPartition.get(number) ?? one;
  }
  async refresh(): Promise<void> {
    this.refreshCount++;
  }
}

function setUp(limits: Partial<KafkaLogLimits> = {}) {
  const client = new HandClient();
  const leaders = new HandLeaders();
  const all = { ...defaultLimits, resendMinMs: 1, resendMaxMs: 4, closeTimeoutMs: 50, ...limits };
  const appender = new Appender({ topic: 't', limits: all, client, topology: leaders });
  const append = (to: number, name: string, signal?: AbortSignal): Promise<Offset> =>
    appender.append(partition(to), [record(name)], signal);
  return { client, leaders, appender, append };
}

const record = (name: string): LogRecord => ({ value: Buffer.from(name), type: 'T' });
const names = (batch: PartitionBatch | undefined): string[] | undefined =>
  batch?.records.map(({ value }) => Buffer.from(value).toString());
const shape = (request: Request) => request.batches.map((batch) => [batch.partition, names(batch)]);
/** Waits for everything that was due in this turn and the next. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('group commit', () => {
  test('appends of one turn go out in one request, one batch a partition', async () => {
    const { client, append } = setUp();
    const given = [append(0, 'a'), append(1, 'b'), append(0, 'c')];
    const request = await client.sent(0);
    expect(shape(request)).toEqual([
      [0, ['a', 'c']],
      [1, ['b']],
    ]);
    request.answer(stored(7), stored(0));
    expect(await Promise.all(given)).toEqual([7, 0, 8]);
  });

  test('what arrives while a request is in flight goes out together with the next', async () => {
    const { client, append } = setUp();
    const given = [append(0, 'a')];
    const first = await client.sent(0);
    given.push(append(0, 'b'), append(1, 'c'));
    await turn();
    given.push(append(0, 'd'));
    await turn();
    expect(client.requests.length).toBe(1);
    first.answer(stored(0));
    const second = await client.sent(1);
    // The longest wait comes first.
    expect(shape(second)).toEqual([
      [1, ['c']],
      [0, ['b', 'd']],
    ]);
    second.answer(stored(5), stored(1));
    expect(await Promise.all(given)).toEqual([0, 1, 5, 2]);
  });

  test('where many workflows append, what comes within some milliseconds of a request goes out together with the next', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { client, append } = setUp({ gatherMs: 20, gatherPartitionsMin: 8, spreadWindowMs: 60_000 });
    for (let to = 0; to < 8; to++) void append(to, 'x');
    await turn();
    const first = client.requests[0]!;
    first.answer(...first.batches.map(() => stored(0)));
    // One by one, each in a turn of its own.
    for (const to of [8, 9, 10]) {
      void append(to, 'y');
      await turn();
    }
    expect(client.requests.length).toBe(1);
    vi.advanceTimersByTime(20);
    expect(client.requests[1]!.batches.map((batch) => batch.partition)).toEqual([8, 9, 10]);
  });

  test('where one goes on step by step, nothing is waited for', async () => {
    const { client, append } = setUp({ gatherMs: 60_000, gatherPartitionsMin: 8, spreadWindowMs: 60_000 });
    for (let number = 0; number < 20; number++) {
      const appended = append(number % 7, 'x');
      (await client.sent(number)).answer(stored(number));
      await appended;
    }
    expect(client.requests.length).toBe(20);
  });

  test('a request is closed by records and by bytes; one batch always fits', async () => {
    const { client, append } = setUp({ requestMaxRecords: 3, requestMaxBytes: 4_000 });
    for (const to of [0, 1, 2, 3]) void append(to, 'x');
    const first = await client.sent(0);
    expect(first.batches.length).toBe(3);
    void append(4, 'y'.repeat(5_000));
    first.answer(stored(0), stored(0), stored(0));
    const second = await client.sent(1);
    expect(shape(second)).toEqual([[3, ['x']]]);
    second.answer(stored(0));
    expect((await client.sent(2)).batches[0]!.partition).toBe(4);
  });

  test('a partition takes as much as one batch may hold', async () => {
    const { client, append } = setUp({ batchMaxBytes: 2_500 });
    for (const name of ['a', 'b', 'c']) void append(0, name.repeat(1_000));
    const first = await client.sent(0);
    expect(names(first.batches[0])!.map((name) => name[0])).toEqual(['a', 'b']);
    first.answer(stored(0));
    expect(names((await client.sent(1)).batches[0])![0]![0]).toBe('c');
  });
});

describe('doubt', () => {
  test('the same batch is sent again; its partition waits, the others go on', async () => {
    const { client, append } = setUp();
    const doubtful = append(0, 'a');
    const fine = append(1, 'b');
    const first = await client.sent(0);
    const behind = append(0, 'behind');
    first.answer(noAnswer('the connection was lost'), stored(0));
    expect(await fine).toBe(0);
    const again = await client.sent(1);
    expect(again.lane).toBe('resend');
    expect(again.batches[0]).toBe(first.batches[0]);
    // While the outcome is unknown, nothing else of partition 0 is sent, and partition 1 continues.
    const next = append(1, 'c');
    const other = await client.sent(2);
    expect(shape(other)).toEqual([[1, ['c']]]);
    other.answer(stored(1));
    expect(await next).toBe(1);
    again.answer(stored(3));
    expect(await doubtful).toBe(3);
    const last = await client.sent(3);
    expect([last.lane, shape(last)]).toEqual(['append', [[0, ['behind']]]]);
    last.answer(stored(4));
    expect(await behind).toBe(4);
  });

  test('goes to whoever leads then', async () => {
    const { client, leaders, append } = setUp();
    const given = append(0, 'a');
    const first = await client.sent(0);
    leaders.byPartition.set(0, two);
    first.answer(answerOf('t', 0, 6, -1));
    const again = await client.sent(1);
    expect(again.leader).toBe(two);
    expect(leaders.refreshCount).toBeGreaterThan(0);
    again.answer(stored(0));
    expect(await given).toBe(0);
  });

  test('a partition without a leader waits for one', async () => {
    const { client, leaders, append } = setUp();
    leaders.leaderOf = () => (leaders.refreshCount < 3 ? undefined : two);
    const given = append(0, 'a');
    const request = await client.sent(0);
    expect([request.leader, request.lane]).toEqual([two, 'append']);
    request.answer(stored(0));
    expect(await given).toBe(0);
  });

  test('a slow broker delays no other', async () => {
    const { client, leaders, append } = setUp();
    leaders.byPartition.set(1, two);
    void append(0, 'stuck');
    await client.sent(0);
    for (let round = 1; round <= 5; round++) {
      const given = append(1, `round ${round}`);
      const request = await client.sent(round);
      expect(request.leader).toBe(two);
      request.answer(stored(round));
      expect(await given).toBe(round);
    }
  });

  test('ends when the topic is gone for good', async () => {
    const { client, leaders, append } = setUp();
    const given = append(0, 'a');
    leaders.missingForMs = defaultLimits.topicMissingMs + 1;
    (await client.sent(0)).answer(answerOf('t', 0, 3, -1));
    await expect(given).rejects.toMatchObject({ name: 'ConfigError', code: 'log-topic-missing' });
  });
});

describe('refusals', () => {
  test('one append of a batch is too large: the others are stored', async () => {
    const { client, append } = setUp();
    const given = ['a', 'b', 'c'].map((name) => append(0, name));
    void append(0, 'later');
    (await client.sent(0)).answer(tooLarge);
    const results = Promise.allSettled(given);
    // If all were refused together they would have their answers before anything is sent again.
    expect(await Promise.race([client.sent(1).then(() => 'sent again'), results])).toBe('sent again');
    for (const [number, answer] of [stored(0), tooLarge, stored(1)].entries()) {
      const request = await client.sent(number + 1);
      expect(names(request.batches[0])).toEqual([['a', 'b', 'c'][number]]);
      request.answer(answer);
    }
    expect((await results).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(names((await client.sent(4)).batches[0])).toEqual(['later']);
  });

  test('missing rights are a wrong configuration', async () => {
    const { client, append } = setUp();
    const given = append(0, 'a');
    (await client.sent(0)).answer(answerOf('t', 0, 29, -1));
    await expect(given).rejects.toMatchObject({ name: 'ConfigError', code: 'log-unauthorized' });
  });

  test('too much waits already', async () => {
    const { client, append } = setUp({ pendingMaxBytes: 3_000 });
    const given = [append(0, 'x'.repeat(1_000)), append(0, 'y'.repeat(1_000))];
    await expect(append(0, 'z'.repeat(1_000))).rejects.toMatchObject({ name: 'LimitError', code: 'append-queue-full' });
    (await client.sent(0)).answer(stored(0));
    await Promise.all(given);
    const after = append(0, 'z'.repeat(1_000));
    (await client.sent(1)).answer(stored(2));
    expect(await after).toBe(2);
  });
});

describe('giving up', () => {
  test('what waits is not sent', async () => {
    const { client, append } = setUp();
    const abort = new AbortController();
    const ahead = append(0, 'ahead');
    const first = await client.sent(0);
    const given = append(0, 'unwanted', abort.signal);
    const wanted = append(0, 'wanted');
    abort.abort();
    await expect(given).rejects.toMatchObject({ code: 'append-aborted' });
    first.answer(stored(0));
    await ahead;
    const second = await client.sent(1);
    expect(names(second.batches[0])).toEqual(['wanted']);
    second.answer(stored(1));
    expect(await wanted).toBe(1);
  });

  test('in doubt: the batch is dropped when nobody waits for it, and the partition is free', async () => {
    const { client, append } = setUp();
    const abort = new AbortController();
    const given = append(0, 'doubtful', abort.signal);
    const next = append(1, 'other');
    const first = await client.sent(0);
    abort.abort();
    await expect(given).rejects.toMatchObject({ code: 'append-aborted' });
    first.answer(noAnswer('the connection was lost'), stored(0));
    await next;
    const behind = append(0, 'behind');
    const second = await client.sent(1);
    expect(shape(second)).toEqual([[0, ['behind']]]);
    second.answer(stored(0));
    expect(await behind).toBe(0);
  });

  test('in doubt: the batch stays the same for those who still wait for it', async () => {
    const { client, append } = setUp();
    const abort = new AbortController();
    const given = append(0, 'given up', abort.signal);
    const kept = append(0, 'kept');
    const first = await client.sent(0);
    abort.abort();
    await expect(given).rejects.toMatchObject({ code: 'append-aborted' });
    first.answer(noAnswer('the connection was lost'));
    const again = await client.sent(1);
    expect(names(again.batches[0])).toEqual(['given up', 'kept']);
    again.answer(stored(4));
    expect(await kept).toBe(5);
  });

  test('closing waits for what is under way and takes nothing more', async () => {
    const { client, appender, append } = setUp({ closeTimeoutMs: 10_000 });
    const given = append(0, 'a');
    const request = await client.sent(0);
    const closing = appender.close();
    await expect(append(0, 'late')).rejects.toMatchObject({ code: 'append-closed' });
    request.answer(stored(0));
    expect(await given).toBe(0);
    await closing;
    expect(client.isClosed).toBe(true);
  });

  test('closing lets go of what is not answered in time', async () => {
    const { client, appender, append } = setUp();
    const given = append(0, 'a');
    const behind = append(0, 'b');
    const results = Promise.allSettled([given, behind]);
    (await client.sent(0)).answer(noAnswer('the connection was lost'));
    await client.sent(1);
    await appender.close();
    const message = expect.stringContaining('The last attempt: the connection was lost.');
    for (const result of await results) expect(result).toMatchObject({ reason: { code: 'append-closed', message } });
  });
});
