/** Owns what JSON can hold, as answers have it. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
