/**
 * Owns how an operation that is only passed on reads where people and agents meet it: its commands, its tools, its forms. Pure data beside
 * the route: the client is made with it (`scripts/client-types`), so that the command line, MCP and the console load nothing of the server.
 */

/**
 * A text with places: `{field}` is a field of the answer, else of the request, written by the unit in its name; `{field|text}` has the text
 * where the field is null or missing; a list's items stand with commas between. Of a list of texts the first counts whose condition, a
 * field that is neither null, false nor empty (`!field`: that is), holds.
 */
export type Words = string | readonly (string | readonly [when: string, text: string])[];

/** A list of the answer, drawn as a table. The third part of a column: how far it may shrink, or how it is aligned. */
export interface Rows {
  readonly of: string;
  readonly none: Words;
  readonly columns: readonly (readonly [title: string, words: Words, how?: number | 'right'])[];
  /** A line below for each item of which this holds. */
  readonly each?: readonly [when: string, text: string];
  /** Below a list that has items. */
  readonly note?: string;
}

export interface CommandEdge<Field extends string = string> {
  /** `queues pause`. */
  readonly name: string;
  readonly about: string;
  /** What the group does without a further word. */
  readonly isDefault?: true;
  /** Also where a folder holds nothing yet. */
  readonly creates?: true;
  /** Takes who decides it, where no reason is asked for. */
  readonly signs?: true;
  /** Takes modules of workflows. */
  readonly loads?: true;
  /** The fields that are given by their place, with the name and the description that the command has for each; `[name]`: may be left out. */
  readonly takes?: { readonly [F in Field]?: readonly [name: string, about: string] };
  /** The fields that are options, each with its description; `why` and `limit` have theirs. */
  readonly options?: { readonly [F in Field]?: string };
  /** What the command itself says. */
  readonly sends?: { readonly [F in Field]?: string | number | boolean };
  /** The field that gets the present moment where none is given; `id` gets one of its own. */
  readonly makes?: Field;
  readonly says?: Words;
  /** A warning for each item of a list. */
  readonly warns?: readonly [of: string, text: string];
  readonly rows?: Rows;
}

export interface ToolEdge<Field extends string = string> {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** `adds-once`: a second call changes nothing more. */
  readonly hints: 'reads' | 'adds-once' | 'replaces';
  readonly takes: readonly Field[];
  readonly says: Words;
  /** A line for each item of a list. */
  readonly each?: readonly [of: string, text: string];
}

/** A dialog of the console. */
export interface FormEdge {
  /** The view that has its button. */
  readonly on: 'workflow' | 'queue';
  /** Where several of the view's forms are one operation. */
  readonly sends?: Readonly<Record<string, boolean>>;
  readonly title: string;
  readonly verb: string;
  readonly follows?: string;
  readonly isDangerous?: true;
  /** Of the view: which of its fields must hold (`!field`: must not) for the button to show. */
  readonly when?: string;
}

export interface Edges<Field extends string = string> {
  readonly commands?: readonly CommandEdge<Field>[];
  readonly tools?: readonly ToolEdge<Field>[];
  readonly forms?: readonly FormEdge[];
}
