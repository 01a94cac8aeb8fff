import { describe, expect, it } from 'vitest';
import { task } from './task.ts';
import { upcasters } from './upcast.ts';

describe('upcast', () => {
  const given = (upcast: object) => upcasters(upcast as never, 'refund v3');

  it('goes from each older version to the next', () => {
    const links = given({
      1: {
        input: (i: { order: string }) => ({ orderId: i.order }),
        belief: (b: { price: number }) => ({ cents: b.price * 100 }),
        tasks: { pay: () => task('credit', { cents: 1 }) },
      },
      2: {},
    });
    expect([...links.keys()]).toEqual([1, 2]);
    expect(links.get(1)!.input!({ order: 'o' })).toEqual({ orderId: 'o' });
    expect(links.get(2)!.input!({ orderId: 'o' })).toEqual({ orderId: 'o' });
    expect(links.get(1)!.belief({ price: 2 })).toEqual({ cents: 200 });
    expect(links.get(1)!.task('pay', null)).toEqual({ step: 'credit', input: { cents: 1 } });
    expect(links.get(1)!.task('price', { orderId: 'o' })).toEqual({ step: 'price', input: { orderId: 'o' } });
    expect(links.get(2)!.belief({ cents: 1 })).toEqual({ cents: 1 });
    // A name that every object has is no upcaster.
    expect(links.get(1)!.task('toString', null)).toEqual({ step: 'toString', input: null });
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /it returned nothing, not a task/],
    ['a task of no name', { step: 5, input: 1 }, /its step is a number/],
    ['a task that waits', task('credit', {}, { after: 'all' }), /`after`, which an upcaster can not change/],
  ])('refuses a task upcaster that returns %s', (_, result, message) => {
    const links = given({ 2: { tasks: { pay: () => result } } });
    expect(() => links.get(2)!.task('pay', null)).toThrow(message);
    expect(() => links.get(2)!.task('pay', null)).toThrow('refund v3, upcast.2.tasks.pay');
  });

  it('refuses belief that is no JSON', () => {
    const links = given({ 2: { belief: () => ({ at: new Date(0) }) } });
    expect(() => links.get(2)!.belief({})).toThrow(expect.objectContaining({ code: 'not-serialisable' }));
  });
});
