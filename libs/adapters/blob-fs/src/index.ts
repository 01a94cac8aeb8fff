/** Entry point of @tidemark/blob-fs. */

export { type FsBlobsOptions, openFsBlobs } from './fs-blobs.ts';
export { type FsObjectsOptions, openFsObjects } from './fs-objects.ts';
