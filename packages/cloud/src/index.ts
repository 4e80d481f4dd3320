/** A cloud on one machine: the synthesized stack on emulators, its bundles in processes. */
export { type Cloud, type CloudInit, startCloud } from './cloud.ts';
