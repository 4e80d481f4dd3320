/** A question a simulated model knows, with the data for a correct or a plausible wrong answer. */
export interface SimulatedQuestion {
  readonly id: string;
  readonly question: string;
  /** The accepted answers; a correct model gives the first. Absent: unknown. */
  readonly target?: string | readonly string[] | undefined;
  /** Texts of the choices (A), (B), ...; if present, the answer is a letter. */
  readonly choices?: readonly string[] | undefined;
}
