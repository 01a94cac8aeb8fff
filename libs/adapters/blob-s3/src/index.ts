/** Entry point of @tidemark/blob-s3. */

export type { S3BucketOptions } from './s3-bucket.ts';
export { openS3Blobs, openS3Objects, type S3ObjectsOptions } from './s3-objects.ts';
