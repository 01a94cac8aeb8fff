import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { defineWorkflow, task } from './index.ts';
import { unknownFields } from './unknown-fields.ts';

const textOf = (schema: z.ZodType, value: unknown) =>
  unknownFields(schema, value).map(({ path, problem }) => `${path} ${problem}`);

describe('fields that a schema does not know', () => {
  const order = z.object({ orderId: z.string(), note: z.string().optional() });
  test.each([
    [{ orderId: 'o', nott: 'x' }, ['nott is no field (did you mean note?)']],
    [{ orderld: 'o' }, ['orderld is no field (did you mean orderId?)']],
    [{ ORDERID: 'o' }, ['ORDERID is no field (did you mean orderId?)']],
    [{ orderId: 'o', colour: 1 }, ['colour is no field (known: orderId, note)']],
    [{ orderId: 'o' }, []],
    ['text', []],
    [null, []],
  ])('%j', (value, expected) => expect(textOf(order, value)).toEqual(expected));

  test('are found at any depth, with their path', () => {
    const deep = z.object({ items: z.array(order).default([]), by: z.record(z.string(), order.nullable()).optional() });
    expect(textOf(deep, { items: [{ orderId: 'a' }, { orderId: 'b', notes: 1 }], by: { x: { orderID2: 1 } } })).toEqual(
      ['items[1].notes is no field (did you mean note?)', 'by.x.orderID2 is no field (did you mean orderId?)'],
    );
    const tree: z.ZodType = z.lazy(() => z.object({ left: tree.optional() }));
    expect(textOf(tree, { left: { left: { lift: 1 } } })).toEqual(['left.left.lift is no field (did you mean left?)']);
  });

  test('are taken where the schema takes any, and in alternatives', () => {
    expect(textOf(z.looseObject({ a: z.string() }), { b: 1 })).toEqual([]);
    expect(textOf(z.object({ a: z.string() }).catchall(z.number()), { b: 1 })).toEqual([]);
    expect(textOf(z.union([order, z.object({ colour: z.number() })]), { colour: 1 })).toEqual([]);
    expect(unknownFields(mini.object({ a: mini.string() }), { aa: 1 })).toMatchObject([{ path: 'aa' }]);
  });

  test('are told up to twenty, however many there are', () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`orderId${at}`, at]));
    const told = unknownFields(order, { orderId: 'o', ...many });
    expect(told).toHaveLength(20);
    expect(JSON.stringify(told).length).toBeLessThan(10_000);
  });

  test('of an input are refused by what starts a workflow, and dropped from what is stored already', () => {
    const workflow = defineWorkflow({
      ...{ name: 'refund', version: 1, input: order, belief: z.object({}), output: z.object({}) },
      ...{ tasks: { go: z.object({}) }, flow: { go: [] } },
      begin: () => ({ belief: {}, next: [task('go', {})] }),
      steps: { go: () => ({ done: {} }) },
    });
    expect(() => workflow.refuseUnknown?.({ orderld: 'o' })).toThrow(
      'refund v1, input: orderld: is no field (did you mean orderId?). Fix what is given to start the workflow.',
    );
    workflow.refuseUnknown?.({ orderId: 'o' });
    expect(workflow.parseInput({ orderId: 'o', nott: 1 })).toEqual({ orderId: 'o' });
  });
});
