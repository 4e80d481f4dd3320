/// <reference path="./.sst/platform/config.d.ts" />

export default $config({
  app({ stage }) {
    const isProduction = stage === 'production';
    return {
      name: 'thrice',
      home: 'aws',
      version: '4.17.1',
      removal: isProduction ? 'retain' : 'remove',
      protect: isProduction,
      providers: { aws: { version: '7.20.0' } },
    };
  },
  async run() {
    const { createStack } = await import('./stacks/index.ts');
    return createStack();
  },
});
