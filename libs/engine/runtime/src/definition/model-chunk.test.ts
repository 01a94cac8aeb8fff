import { taskId } from '@tidemark/core';
import { expect, it } from 'vitest';
import { PROGRESS_PERIOD_MS, PROGRESS_TEXT_MAX_CHARS, ProgressGate } from './model-chunk.ts';

const [one, other] = [taskId(0, 0), taskId(0, 1)];
const said = { step: 'count', done: 1, total: 2 };

it('tells of each task no more often than its period', () => {
  const gate = new ProgressGate();
  expect(gate.take(one, said, 0)).toEqual({ kind: 'progress', ...said });
  expect(gate.take(one, said, PROGRESS_PERIOD_MS - 1)).toBeUndefined();
  expect(gate.take(other, said, 1)).toBeDefined();
  expect(gate.take(one, said, PROGRESS_PERIOD_MS)).toBeDefined();
});

it('takes nothing but numbers and a short text from a step, whatever it gives', () => {
  const gate = new ProgressGate();
  const wrong = {
    ...said,
    kind: 'text',
    done: 5n,
    total: 'x',
    text: {
      toString: () => {
        throw new Error('no');
      },
    },
  };
  expect(gate.take(one, wrong as never, 0)).toEqual({ kind: 'progress', step: 'count', done: 0, total: 0 });
  const long = gate.take(other, { ...said, text: 'x'.repeat(PROGRESS_TEXT_MAX_CHARS + 1) }, 0);
  expect(long!.text).toHaveLength(PROGRESS_TEXT_MAX_CHARS);
});
