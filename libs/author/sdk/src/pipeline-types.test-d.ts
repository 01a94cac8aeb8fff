/** Owns the proof that pipelines infer and refuse: checked by `tsc`, run by no one. */

import { type InputOf, type OutputOf, type PipelineContext, pipeline, type Workflow } from './index.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_proof: Same<A, B>): void => {};
type Types<P> = P extends { readonly types?: { readonly input: infer I; readonly output: infer O } } ? [I, O] : never;

interface Item {
  readonly title: string;
}
const collect = async ({ folder }: { folder: string }): Promise<Item[]> => [{ title: folder }];
const filter = (items: readonly Item[], ctx: PipelineContext) => {
  ctx.handoff(`${items.length}`, ['a.json']);
  return { kept: items };
};
const format = ({ kept }: { kept: readonly Item[] }): string => kept.map(({ title }) => title).join();

// The object form: input from the step that nothing feeds, output from the one that feeds nothing.
export const content = pipeline('content', { collect, filter, format });
same<Types<typeof content>, [{ folder: string }, string]>(true);
export const asWorkflow: Pick<Workflow, 'flow' | 'name'> = content;
export type Untyped = [InputOf<Workflow>, OutputOf<Workflow>];

// A step that nothing feeds, beside the first, is named.
export const broken = pipeline('broken', {
  // @ts-expect-error: no step's output is what this step takes
  collect,
  filter,
  // @ts-expect-error: no step's output is what this step takes
  format: ({ words }: { words: number }) => words,
});

// A step without annotations takes its input as unknown, and never as a wrong type.
export const unknowns = pipeline('unknowns', {
  one: () => 1,
  // @ts-expect-error: annotate the input
  two: (input) => input + 1,
});

// The builder: each step is checked against the one before it, without annotations.
export const built = pipeline<{ folder: string }>('built')
  .step('collect', ({ folder }) => [{ title: folder }])
  .step('filter', (items, ctx) => {
    ctx.tokens(items.length);
    return items.map(({ title }) => title);
  })
  .step('count', async (titles) => titles.length, {
    gate: { name: 'some', check: (count) => ({ passed: count > 0, evidence: count.toFixed() }) },
  })
  .build({ onFailure: 'last-success' });
same<Types<typeof built>, [{ folder: string }, number]>(true);

export const wrongOrder = pipeline<string>('wrong')
  .step('length', (text) => text.length)
  // @ts-expect-error: the step before made a number
  .step('upper', (text: string) => text.toUpperCase());
