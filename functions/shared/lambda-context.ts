/** The fields of Lambda's handler context that Thrice reads. */
export interface LambdaContext {
  readonly awsRequestId: string;
  /** Time until Lambda stops the invocation, ms. */
  getRemainingTimeInMillis(): number;
}
