import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { judgeCredentials } from '../../../support/aws-judges.ts';
import { findFreePort, startServer } from '../../server-process.ts';
import { buildMinio } from '../installs.ts';
import type { Judge } from '../judge.ts';
import { versions } from '../versions.ts';

/** MinIO, which checks signatures and checksums. */
export const minio: Judge = {
  name: 'MinIO',
  version: versions.minio,
  service: 's3',
  differences: [
    {
      test: 'BlobStore contract: S3, emulated, in parts',
      // https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html (2026-11)
      why: 'refuses parts of less than 5 MiB, as S3 does; the suite sends parts of 50 KB',
    },
    ...[
      'BlobStore contract: S3, emulated joining writes large and small blobs',
      'S3BlobStore blobs that are joined are copied by S3',
      'S3BlobStore blobs that are joined are copied again',
    ].map((test) => ({
      test,
      // https://github.com/minio/minio/issues/20649 (2024-11)
      // https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyPartResult.html (2026-11)
      why: 'computes no checksum of a copied part, and refuses the copy without one; S3 returns it',
    })),
  ],
  install: buildMinio,
  start: async ({ folder }) => {
    const port = await findFreePort();
    const data = join(folder, 'data');
    await mkdir(data);
    const server = await startServer(port, {
      file: await buildMinio(),
      args: ['server', '--address', `127.0.0.1:${port}`, data],
      cwd: folder,
      environment: {
        MINIO_ROOT_USER: judgeCredentials.accessKeyId,
        MINIO_ROOT_PASSWORD: judgeCredentials.secretAccessKey,
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
      },
    });
    return {
      url: `http://127.0.0.1:${port}`,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};
