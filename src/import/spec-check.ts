import { AppError } from '../errors.ts'
import type { SampleChecker, SampleCheckInput } from '../models/service.ts'
import { parityFailed } from './parity-failed.ts'
import { checkInputOf } from './request.ts'
import { certificateFields } from './responses.ts'
import type { ImportRunner } from './thread.ts'

/** Checks specifications against a sample, in the same thread as imports. */
export class ImportSampleChecker implements SampleChecker {
  private readonly runner: ImportRunner

  constructor(runner: ImportRunner) {
    this.runner = runner
  }

  async check(teamId: string, { spec, ...asked }: SampleCheckInput) {
    const check = checkInputOf(asked)
    if (check === null) return null
    const checked = await this.runner.check(teamId, { spec, check })
    if (checked.faults !== null) {
      const message = "the sample can't be read"
      throw new AppError('invalid_spec', message, { details: checked.faults })
    }
    if (!checked.parity.agrees) throw parityFailed(checked.parity)
    return { certificate: certificateFields(checked.certificate), sample: checked.sample }
  }
}
