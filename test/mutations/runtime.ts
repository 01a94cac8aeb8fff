import type { Mutation } from './mutations.ts';
export const RUNTIME_MUTATIONS: Readonly<Record<string, Mutation>> = {};
