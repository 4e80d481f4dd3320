import type { S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { joinObjects } from '../../../packages/aws/src/s3/join-objects.ts';

describe('joinObjects', () => {
  it('refuses an object whose size the store does not say instead of leaving it out', async () => {
    const sent: string[] = [];
    const send = async (command: object) => {
      sent.push(command.constructor.name);
      return {};
    };
    const client = { send } as unknown as S3Client;
    const sources = [{ Bucket: 'bucket', Key: 'checkpoints/demo/1' }];

    const joined = joinObjects(
      client,
      { Bucket: 'bucket', Key: 'runs/demo/cells.jsonl' },
      { sources, minPartBytes: 5 },
    );

    await expect(joined).rejects.toMatchObject({ code: 'store-unusable' });
    expect(sent).toEqual(['HeadObjectCommand']);
  });
});
