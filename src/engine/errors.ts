/** A scorecard that can't be compiled. `checkSpec` finds these before; meeting one is a bug. */
export class EngineError extends Error {
  readonly code: EngineErrorCode

  constructor(code: EngineErrorCode, message: string) {
    super(message)
    this.name = 'EngineError'
    this.code = code
  }
}

export type EngineErrorCode = 'range_invalid' | 'scale_invalid'
