/** What callers may send is what the definition declares. */

import { defineWorkflow, task } from '@tidemark/sdk';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkSignal } from './signal.ts';

const inbox = defineWorkflow({
  ...{ name: 'inbox', version: 2, input: z.object({}), belief: z.object({}), output: z.object({}) },
  tasks: { turn: z.object({}) },
  flow: { turn: [] },
  signals: { mail: z.object({ subject: z.string() }), leave: z.object({}) },
  begin: () => ({ belief: {}, next: [task('turn', {})] }),
  steps: { turn: () => ({ done: {} }) },
});
const check =
  (name: string, value: unknown, version = 2) =>
  () =>
    checkSignal([inbox], { definition: 'inbox', version }, name, value);

it('tells what is declared, which fields do not fit, and what stands for no value', () => {
  expect(check('mial', null)).toThrow('it declares leave, mail');
  expect(check('mail', { subject: 1 })).toThrow(
    expect.objectContaining({
      code: 'signal-unfit',
      details: { fields: [expect.objectContaining({ field: 'value.subject' })] },
    }),
  );
  expect(check('leave', null)).toThrow('Without a value it is null: give {}.');
  expect(check('tidemark.schedule', null)).toThrow(expect.objectContaining({ code: 'signal-reserved' }));
  expect(check('leave', {})).not.toThrow();
  // Of a version that is not known here, the step checks it.
  expect(check('mial', null, 3)).not.toThrow();
});
