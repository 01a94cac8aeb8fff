export { type Adopted, adoptThread } from './adopt.ts';
export { type CompiledGraph, type DurableGraphOptions, durableGraph } from './durable-graph.ts';
export { journaled, type NodeContext, nodeContext } from './node-context.ts';
export { type SaverOptions, TidemarkSaver } from './saver.ts';
export { type StoreHost, type StoreOptions, TidemarkStore } from './store.ts';
