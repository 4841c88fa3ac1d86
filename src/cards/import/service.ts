import { AppError } from '../../errors.ts'
import type { Environment, UserCaller } from '../../http/access/caller.ts'
import { storedJsonSteps } from '../../platform/json.ts'
import { runInTurns } from '../../platform/turn-taker.ts'
import type { Deployed, ModelService } from '../../registry/models/service.ts'
import { parityFailed, requireReached } from './parity-failed.ts'
import { certificateFields } from './responses.ts'
import type { ImportInput, Registered, Verdict } from './run-import.ts'
import type { ImportThread } from './thread.ts'

interface RegisterOptions {
  readonly environment: Environment
  readonly description: string | null
  readonly autoDeploy: boolean
  /** True if a sample may leave bins unreached. */
  readonly acceptsUnreached: boolean
}

interface Imported {
  /** JSON of `importFields`, in UTF-8. */
  readonly answer: Uint8Array
  /** Null when no registration was requested. */
  readonly deployed: Deployed | null
}

interface ImportServiceOptions {
  readonly models: ModelService
  readonly runner: Pick<ImportThread, 'run'>
}

/** Imports cards of other tools, checks them, and registers them on request. */
export class ImportService {
  private readonly options: ImportServiceOptions

  constructor(options: ImportServiceOptions) {
    this.options = options
  }

  /**
   * Imports a card. Without `register` the response lists the faults, and nothing is stored.
   *
   * @throws AppError with `register`: `invalid_spec` whose details list every fault,
   *   `parity_failed` when a score of the sample differs; otherwise see `ImportThread`; the reason
   *   of a signal that is aborted before anything is stored
   */
  async import(
    caller: UserCaller,
    input: ImportInput,
    register: RegisterOptions | null,
    signal: AbortSignal,
  ): Promise<Imported> {
    const order = { input, isToRegister: register !== null }
    const { answer, verdict } = await this.options.runner.run(caller.teamId, order, signal)
    if (register === null || verdict === null) return { answer, deployed: null }
    return { answer, deployed: await this.register(caller, verdict, { ...register, signal }) }
  }

  private async register(
    caller: UserCaller,
    { faults, parity, certificate, registered }: Verdict,
    { acceptsUnreached, ...options }: RegisterOptions & { readonly signal: AbortSignal },
  ): Promise<Deployed> {
    const text = new TextDecoder().decode(registered)
    const { spec, sample } = (await runInTurns(storedJsonSteps(text), options.signal)) as Registered
    if (spec === null) {
      const count = faults.length
      const message = `the card has ${count} ${count === 1 ? 'fault' : 'faults'}`
      throw new AppError('invalid_spec', message, { details: faults })
    }
    if (parity?.agrees === false) throw parityFailed(parity)
    if (parity !== null && !acceptsUnreached) requireReached(parity.coverage)
    return this.options.models.deploy(caller, {
      spec,
      ...options,
      parity: certificate === null ? null : certificateFields(certificate),
      sample,
    })
  }
}
