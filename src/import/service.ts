import type { Environment, UserCaller } from '../auth/caller.ts'
import { AppError } from '../errors.ts'
import type { Deployed, ModelService } from '../models/service.ts'
import { certificateFields } from './answers.ts'
import type { ImportOrder, ImportOutcome, Verdict } from './order.ts'
import type { Difference } from './parity.ts'
import type { ImportRunner } from './thread.ts'

export interface RegisterOrder {
  readonly environment: Environment
  readonly description: string | null
  readonly autoDeploy: boolean
}

export interface Imported {
  /** JSON of `importFields`, in UTF-8. */
  readonly answer: Uint8Array
  /** Null when nothing was to be registered. */
  readonly deployed: Deployed | null
}

interface ImportServiceOptions {
  readonly models: ModelService
  readonly runner: ImportRunner
}

/** Cards of other tools: imported, checked, and registered when asked. */
export class ImportService {
  private readonly options: ImportServiceOptions

  constructor(options: ImportServiceOptions) {
    this.options = options
  }

  /**
   * Imports a card. Without `register` faults are part of the answer, and nothing is kept.
   *
   * @throws AppError with `register`: `invalid_spec` whose details list every fault, `parity_failed` when
   *   a score of the sample differs; see `ImportRunner` too
   */
  async import(
    caller: UserCaller,
    order: ImportOrder,
    register: RegisterOrder | null,
  ): Promise<Imported> {
    const { runner } = this.options
    const { answer, verdict } = await runner.run(caller.teamId, order, register !== null)
    if (register === null || verdict === null) return { answer, deployed: null }
    return { answer, deployed: await this.register(caller, verdict, register) }
  }

  private async register(
    caller: UserCaller,
    { spec, faults, parity, certificate }: Verdict,
    order: RegisterOrder,
  ): Promise<Deployed> {
    if (spec === null) {
      const count = faults.length
      const message = `the card has ${count} ${count === 1 ? 'fault' : 'faults'}`
      throw new AppError('invalid_spec', message, { details: faults })
    }
    if (parity?.agrees === false) throw parityFailed(parity)
    return this.options.models.deploy(caller, {
      ...{ spec, ...order },
      parity: certificate === null ? null : certificateFields(certificate),
    })
  }
}

function messageOf({ expectedScore, actualScore, expectedPd, actualPd }: Difference): string {
  const scores = `has the score ${expectedScore}, the engine gives ${actualScore}`
  return expectedPd === null
    ? scores
    : `${scores}; the probability of default ${expectedPd}, the engine gives ${actualPd}`
}

function parityFailed({
  differing,
  rows,
  differences,
}: NonNullable<ImportOutcome['parity']>): AppError {
  return new AppError(
    'parity_failed',
    `${differing} of ${rows} applicants of the sample would get another score, points or probability of default, so nothing was registered`,
    {
      details: differences.map((difference) => ({
        path: `sample, ${difference.path}`,
        message: messageOf(difference),
      })),
    },
  )
}
