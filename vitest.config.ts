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
    ],
  },
});
