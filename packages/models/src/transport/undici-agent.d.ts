// The part of undici that `open-transport.ts` loads; the package declares the types of its index only.
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';
  export = Agent;
}
