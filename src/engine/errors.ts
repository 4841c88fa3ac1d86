/**
 * A scorecard that can't be compiled, which `checkSpec` refuses earlier, or cells that are not the
 * model's. Either is a bug, or damaged data.
 */
export class EngineError extends Error {
  readonly code: EngineErrorCode

  constructor(code: EngineErrorCode, message: string) {
    super(message)
    this.name = 'EngineError'
    this.code = code
  }
}

export type EngineErrorCode = 'range_invalid' | 'scale_invalid' | 'cell_invalid'
