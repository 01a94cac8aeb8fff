/** Owns the values of JSON, as answers have them. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
