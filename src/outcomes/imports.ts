import { AppError } from '../errors.ts'
import { auditRecord } from '../identity/audit/record.ts'
import type { Clock } from '../platform/clock.ts'
import { isId, newId } from '../platform/ids.ts'
import type { OutcomeSender } from './fact-writer.ts'
import type { ImportDirectory } from './import-files.ts'
import type { ImportFormat, ImportStore, OutcomeImport } from './import-store.ts'
import { countStatuses } from './item.ts'
/** Imports of a team that are under way, over all replicas. */
export const TEAM_IMPORTS_MAX = 5

interface OutcomeImportsOptions {
  readonly store: ImportStore
  readonly files: ImportDirectory
  readonly clock: Clock
  /**
   * Keeps a place for an upload; what it returns gives the place back.
   *
   * @throws AppError `unavailable`
   */
  readonly reserve: (teamId: string) => () => void
  /** Starts the work on an import, which goes on by itself. */
  readonly start: (id: string, teamId: string) => void
}

export class OutcomeImports {
  private readonly options: OutcomeImportsOptions

  constructor(options: OutcomeImportsOptions) {
    this.options = options
  }

  /**
   * Takes a file. Its bytes are on disk when this returns, and are worked off in the background.
   *
   * @throws AppError `payload_too_large`; `unavailable` while too many imports are under way
   */
  async take(
    sender: OutcomeSender,
    format: ImportFormat,
    body: AsyncIterable<Uint8Array>,
    bytesMax: number,
  ): Promise<{ readonly id: string; readonly status: 'running' }> {
    const { reserve, store } = this.options
    const release = reserve(sender.teamId)
    try {
      // Before the file comes: it would be received in vain.
      if ((await store.running(sender.teamId)) >= TEAM_IMPORTS_MAX) throw teamIsFull()
      return await this.receive(sender, format, body, bytesMax)
    } finally {
      release()
    }
  }

  /**
   * The progress of an import. A key sees those of its environment.
   *
   * @throws AppError `import_not_found`
   */
  async get({ teamId, environment }: OutcomeSender, id: string): Promise<OutcomeImport> {
    const found = isId(id, 'imp_') ? await this.options.store.find(id) : null
    const isOwn = environment === null || environment === found?.sender.environment
    if (found?.sender.teamId === teamId && isOwn) return found
    throw new AppError('import_not_found', 'the team has no such import of outcomes')
  }

  private async receive(
    sender: OutcomeSender,
    format: ImportFormat,
    body: AsyncIterable<Uint8Array>,
    bytesMax: number,
  ): Promise<{ readonly id: string; readonly status: 'running' }> {
    const { store, files, clock, start } = this.options
    const nowMs = clock.epochMs()
    const id = newId('imp_', nowMs)
    await files.write(id, body, bytesMax)
    const actor = { userId: sender.by, teamId: sender.teamId }
    const change = { action: 'outcomes.import', subject: id, after: { format } } as const
    try {
      const order = { id, sender, format, counts: countStatuses([]) }
      const isAdded = await store.add(order, auditRecord(actor, change, nowMs), TEAM_IMPORTS_MAX)
      if (!isAdded) throw teamIsFull()
    } catch (error) {
      await files.remove(id)
      throw error
    }
    start(id, sender.teamId)
    return { id, status: 'running' }
  }
}

/** The error of an upload beyond `TEAM_IMPORTS_MAX`. */
export function teamIsFull(): AppError {
  const message = `the team has ${TEAM_IMPORTS_MAX} imports under way: wait for one of them`
  return new AppError('unavailable', message)
}
