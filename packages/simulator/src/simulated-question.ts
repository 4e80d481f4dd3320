/** A question a simulated model knows, with what it takes to be right or plausibly wrong. */
export interface SimulatedQuestion {
  readonly id: string;
  readonly question: string;
  /** The accepted answer, or several; the first is the one given. Absent: nobody knows. */
  readonly target?: string | readonly string[] | undefined;
  /** Texts of the choices (A), (B), ...; the answer then is a letter. */
  readonly choices?: readonly string[] | undefined;
}
