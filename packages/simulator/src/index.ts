/**
 * A model server for tests, demos and acceptance runs.
 *
 * It answers from recordings (found by question text and arm), from simulated models with a given accuracy
 * and latency, or with one fixed text, and can inject faults. Every decision is seeded and independent of
 * the order of requests.
 */

export { type Behaviour, loadBehaviour, type ModelBehaviour } from './load-behaviour.ts';
export { type Fault, type Faults, loadFaults } from './load-faults.ts';
export type { RateLimit } from './load-rate-limit.ts';
export { loadRecordings } from './load-recordings.ts';
export type { RateWindow } from './rate-windows.ts';
export type { RecordedCall } from './replayed-model.ts';
export type { RequestLogEntry } from './request-log.ts';
export { questionKey, type SimulatorStats } from './request-stats.ts';
export type { SimulatedQuestion } from './simulated-question.ts';
export { type Simulator, type SimulatorOptions, startSimulator } from './start-simulator.ts';
export type { SimulatorClock } from './system-clock.ts';
