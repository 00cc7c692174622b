// error.js - the one error of this package, and its numbers.

// Errors that this package finds itself have the numbers of enum killick_code (killick.h); errors of the hub have
// JSON-RPC numbers (killick-hub(7)); an error that an MCP server answered has the number that the server gave it.
export const Code = Object.freeze({
  USAGE: -1,
  CLOSED: -6,
  TIMEOUT: -7,
  PROTOCOL: -10,
  SYSTEM: -12,
  HUB_FAILED: -32000,
  HUB_NOT_FOUND: -32001,
  HUB_NO_METHOD: -32601,
  HUB_BAD_PARAMS: -32602,
});

export class KillickError extends Error {
  constructor(code, message, data) {
    super(message);
    this.name = 'KillickError';
    this.code = code;
    if (data !== undefined)
      this.data = data;
  }

  get reason() {
    if (this.code === Code.TIMEOUT)
      return 'timeout';
    return this.code === Code.HUB_FAILED && typeof this.data?.reason === 'string' ? this.data.reason : undefined;
  }
}

// The error that the hub answered. A timeout has one number, whether the hub or this package noticed it.
export function answerError({ code = Code.PROTOCOL, message = '', data }) {
  const late = code === Code.HUB_FAILED && data?.reason === 'timeout';
  return new KillickError(late ? Code.TIMEOUT : code, message, data);
}
