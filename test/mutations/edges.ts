import type { Mutation } from './mutations.ts';
export const EDGE_MUTATIONS: Readonly<Record<string, Mutation>> = {};
