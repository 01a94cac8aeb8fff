/** Owns what stands for the shop and its payments, in the refund that docs/comparison.md shows in each system. */

export interface Item {
  readonly item: string;
  readonly cents: number;
}

export async function orderOf(order: string): Promise<{ readonly cents: number; readonly items: readonly Item[] }> {
  return { cents: 4_200, items: [{ item: `${order}/shoes`, cents: 4_200 }] };
}

/** The receiver takes each item once. */
export const credit = async ({ item }: Item): Promise<string> => `credit-${item}`;
