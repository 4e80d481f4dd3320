// The emulators ship without types; these declare the parts that the tests use.

declare module 'dynalite' {
  import type { Server } from 'node:http';

  function dynalite(options: { readonly createTableMs: number }): Server;
  export = dynalite;
}

declare module 's3rver' {
  import type { RequestListener } from 'node:http';

  class S3rver {
    constructor(options: { readonly silent: boolean; readonly vhostBuckets: boolean });
    store: unknown;
    readonly context: { store: unknown };
    readonly logger: { close(): void; readonly exceptions: { unhandle(): void } };
    callback(): RequestListener;
  }
  export = S3rver;
}
