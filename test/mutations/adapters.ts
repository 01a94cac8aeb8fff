import type { Mutation } from './mutations.ts';
export const ADAPTER_MUTATIONS: Readonly<Record<string, Mutation>> = {};
