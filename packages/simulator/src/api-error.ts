/** An error response; its type and code are OpenAI's. */
export interface ApiError {
  /** HTTP status, 400..599. */
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
  /** Additional headers, as a flat list of names and values. */
  readonly headers?: readonly string[];
}

/** Whether a request was refused. */
export function isApiError(value: object): value is ApiError {
  return 'status' in value && 'message' in value;
}

/** The body of an error in OpenAI's format. */
export function errorObject({ message, type, code }: ApiError): object {
  return { error: { message, type, param: null, code } };
}

/** The request is invalid: 400 `invalid_request_error`. */
export function invalidRequest(message: string, code: string | null = null): ApiError {
  return { status: 400, type: 'invalid_request_error', code, message };
}

/** The simulator does not serve this model: 404 `model_not_found`. */
export function modelNotFound(model: string): ApiError {
  return {
    status: 404,
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
  };
}

/** No such endpoint: 404 `unknown_url`. */
export function unknownUrl(method: string, path: string): ApiError {
  return {
    status: 404,
    type: 'invalid_request_error',
    code: 'unknown_url',
    message: `Unknown request URL: ${method} ${path}.`,
  };
}
