/** Entry point of @tidemark/blob-s3. */

export { openS3Blobs, type S3BlobsOptions } from './s3-blobs.ts';
export { openS3Objects, type S3ObjectsOptions } from './s3-objects.ts';
