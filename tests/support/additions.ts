import type { SimulatedQuestion } from '@thrice/simulator';

/** A question row of the tests that run whole benchmarks. */
export interface Addition {
  readonly id: string;
  readonly question: string;
  readonly target: string;
}

/** Distinct sums, `q0000` on. */
export function additions(count: number): readonly Addition[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `q${String(index).padStart(4, '0')}`,
    question: `What is ${index} + ${index + 7}?`,
    target: String(2 * index + 7),
  }));
}

/** Rows as a questions file holds them. */
export function toJsonl(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/**
 * What a simulated model of accuracy 1 knows: most sums, some of them wrong, a few not at all.
 *
 * Such a model's answers depend on nothing but the question, so two runs can be compared.
 */
export function patchyKnowledge(rows: readonly Addition[]): readonly SimulatedQuestion[] {
  return rows.map(({ id, question, target }, index) => {
    if (index % 50 === 7) return { id, question };
    return { id, question, target: index % 10 === 3 ? String(Number(target) + 1) : target };
  });
}
