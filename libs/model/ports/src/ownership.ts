/** Owns the rule by which a file or folder on disk counts as a user's own. Pure. */

const OTHERS_WRITE = 0o022;

export interface Owned {
  readonly uid: number;
  readonly mode: number;
}

/** Whether another user than `own` and root made it. `own`: the process's user; undefined on systems without users. */
export const isForeign = ({ uid }: Pick<Owned, 'uid'>, own: number | undefined): boolean =>
  own !== undefined && uid !== own && uid !== 0;

/** Whether others than its owner may change it, by its mode. The mode of a symbolic link says nothing. */
export const isOpenToOthers = ({ mode }: Pick<Owned, 'mode'>, own: number | undefined): boolean =>
  own !== undefined && (mode & OTHERS_WRITE) !== 0;
