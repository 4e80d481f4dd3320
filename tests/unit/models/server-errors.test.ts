import { describe, expect, it } from 'vitest';
import { mapHttpError } from '../../../packages/models/src/vendors/map-http-error.ts';

describe('mapHttpError', () => {
  it('maps every 5xx to a transient error, whoever made the number up', () => {
    const statuses = Array.from({ length: 100 }, (_, index) => 500 + index);

    const others = statuses.filter((status) => {
      const refusal = { status, body: 'no', header: () => null };
      return mapHttpError(refusal, 0, 0).class !== 'transient';
    });

    expect(others).toEqual([]);
  });
});
