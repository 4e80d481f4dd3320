import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    coverage: { include: ['packages/*/src/**'], reporter: ['text-summary'] },
    projects: [
      { test: { name: 'unit', include: ['tests/{unit,contract,integration}/**/*.test.ts'] } },
      {
        test: {
          name: 'e2e',
          include: ['tests/e2e/**/*.test.ts'],
          // Each starts processes of its own; side by side they would only slow each other down.
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'infra',
          include: ['tests/infra/**/*.test.ts'],
          // They share the folder that SST builds in, and the first may have to install it.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
