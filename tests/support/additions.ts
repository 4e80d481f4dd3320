import type { SimulatedQuestion } from '@thrice/simulator';

/** A question row for tests that run whole benchmarks. */
export interface Addition {
  readonly id: string;
  readonly question: string;
  readonly target: string;
}

/** Builds distinct sums with ids starting at `q0000`. */
export function additions(count: number): readonly Addition[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `q${String(index).padStart(4, '0')}`,
    question: `What is ${index} + ${index + 7}?`,
    target: String(2 * index + 7),
  }));
}

/** Serializes rows as the text of a questions file. */
export function toJsonl(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/**
 * The questions a simulated model of accuracy 1 knows: most sums, some with a wrong target, a few missing.
 *
 * Such a model's answers depend only on the question, so two runs can be compared.
 */
export function patchyKnowledge(rows: readonly Addition[]): readonly SimulatedQuestion[] {
  return rows.map(({ id, question, target }, index) => {
    if (index % 50 === 7) return { id, question };
    return { id, question, target: index % 10 === 3 ? String(Number(target) + 1) : target };
  });
}
