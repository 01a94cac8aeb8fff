/** Owns how a named value is shown beside others. */

import type { Json } from '../belief/changes.ts';
import { JsonTree } from '../parts/json-tree.tsx';

export const Part = ({ name, value }: { readonly name: string; readonly value: Json }) => (
  <section>
    <h3>{name}</h3>
    <JsonTree value={value} label={name} />
  </section>
);
