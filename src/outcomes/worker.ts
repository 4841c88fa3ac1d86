import { setTimeout as delay } from 'node:timers/promises'
import pLimit from 'p-limit'
import { AppError, isAway } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import { Periodic } from '../platform/periodic.ts'
import { TeamLimiter } from '../platform/team-limiter.ts'
import type { ImportDirectory } from './import-files.ts'
import { ImportRun } from './import-run.ts'
import { ImportMovedError, type ImportStore } from './import-store.ts'
import { TEAM_IMPORTS_MAX, teamIsFull } from './imports.ts'
import type { OutcomeService } from './service.ts'
import type { OutcomeStore } from './store.ts'

/** Receives what an operator should see. */
interface OutcomeWorkLog {
  failed(what: string, error: unknown): void
}

interface OutcomeWorkerOptions {
  readonly outcomes: OutcomeService
  readonly store: OutcomeStore
  readonly imports: ImportStore
  readonly files: ImportDirectory
  readonly clock: Clock
  readonly log: OutcomeWorkLog
}

const SOON_MS = 500
const IDLE_MS = 60_000
const PURGE_MS = 3_600_000
/** Parts of what is to be removed in one round; the next round goes on. */
const PURGE_PARTS = 20
/** After the database was away. */
const RETRY_MS = 5_000
/** Interval at which a process says which imports it has. */
const SEEN_MS = 60_000
/** An unfinished file of a process that died; a file takes a minute at most. */
const LEFT_OVER_MS = 600_000
/** Files that a process receives or works off. */
const IMPORTS = { teamMax: TEAM_IMPORTS_MAX, max: 20 }

/**
 * The work behind outcomes: imports, one after the other; held outcomes, tried again; and once an
 * hour the removal of what is no longer needed. `close` waits for the running step.
 */
export class OutcomeWorker {
  private readonly options: OutcomeWorkerOptions
  private readonly turn = pLimit(1)
  /** Ids of imports under way. */
  private readonly running = new Set<string>()
  /** Counts uploads and imports. */
  private readonly limiter = new TeamLimiter(IMPORTS)
  private readonly settling: Periodic
  private readonly seeing: Periodic
  private hasResumed = false
  private purgedAtMs = 0

  constructor(options: OutcomeWorkerOptions) {
    this.options = options
    const logged = (what: string) => (error: unknown) => options.log.failed(what, error)
    this.settling = new Periodic({
      round: () => this.settle(),
      everyMs: IDLE_MS,
      retryMs: RETRY_MS,
      onFailed: logged('the start of the imports of outcomes'),
    })
    this.seeing = new Periodic({
      round: () => this.see(),
      everyMs: SEEN_MS,
      onFailed: logged('the sign of life of imports of outcomes'),
    })
  }

  /** Goes on with the imports of earlier processes, and begins the work of this one. */
  start(): void {
    this.settling.start(0)
    this.seeing.start()
  }

  /**
   * Counts an upload as an import under way.
   *
   * @returns to be called when the upload has ended
   * @throws AppError `unavailable` while too many imports are under way
   */
  reserve(teamId: string): () => void {
    return this.limiter.reserve(teamId, teamIsFull)
  }

  /** Works off an import. */
  run(id: string, teamId: string): void {
    if (this.running.has(id) || this.isClosed) return
    this.running.add(id)
    const release = this.limiter.add(teamId)
    void this.turn(() => this.runToEnd(id)).finally(() => {
      this.running.delete(id)
      release()
    })
  }

  /** Tries held outcomes soon: some were added. */
  wake(delayMs = SOON_MS): void {
    this.settling.wake(delayMs)
  }

  async close(): Promise<void> {
    const rounds = [this.settling.close(), this.seeing.close()]
    this.turn.clearQueue()
    await Promise.all(rounds)
    await this.turn(async () => undefined)
  }

  private get isClosed(): boolean {
    return this.settling.signal.aborted
  }

  private async settle(): Promise<void> {
    const { outcomes, log } = this.options
    if (!this.hasResumed) {
      await this.lookAtFiles()
      this.hasResumed = true
    }
    const onFault = (error: unknown) => log.failed('the outcomes whose score was not known', error)
    let nextMs = IDLE_MS
    try {
      if ((await outcomes.settle(onFault)) > 0) nextMs = SOON_MS
      else if (await this.isWaiting()) nextMs = 2 * SOON_MS
    } catch (error) {
      onFault(error)
    }
    this.wake((await this.purge()) ? nextMs : SOON_MS)
  }

  /**
   * Goes on with the files of running imports, and removes those of ended ones. The file of one
   * that failed stays as long as its row: whoever finds the fault can send it again.
   */
  private async lookAtFiles(): Promise<void> {
    const { files, imports } = this.options
    for (const { id, isWhole, changedAtMs } of await files.list()) {
      const found = isWhole ? await imports.find(id) : null
      if (found?.status === 'running') this.run(id, found.sender.teamId)
      else if (found?.status === 'done') await files.remove(id)
      else if (found === null && Date.now() - changedAtMs > LEFT_OVER_MS) {
        if (!isWhole || (await imports.isGone(id))) await files.remove(id)
      }
    }
  }

  /** Says which imports this process has, queued ones included. */
  private async see(): Promise<void> {
    if (this.running.size === 0) return
    await this.options.imports.see([...this.running])
  }

  /** @returns false if it has to go on soon */
  private async purge(): Promise<boolean> {
    if (Date.now() - this.purgedAtMs <= PURGE_MS) return true
    const { outcomes, imports, log } = this.options
    try {
      await imports.failUnseen()
      for (let part = 0; part < PURGE_PARTS && !this.isClosed; part++) {
        if (await outcomes.purge()) continue
        await this.lookAtFiles()
        this.purgedAtMs = Date.now()
        return true
      }
      return false
    } catch (error) {
      log.failed('the removal of outcomes that are no longer needed', error)
      return true
    }
  }

  /** Tells whether a held outcome has its next turn within seconds. */
  private isWaiting(): Promise<boolean> {
    return this.options.store.hasDue(Date.now() + 10 * SOON_MS)
  }

  private async runToEnd(id: string): Promise<void> {
    const { imports, files, outcomes, store, clock, log } = this.options
    while (!this.isClosed) {
      try {
        const state = await imports.find(id)
        if (state?.status !== 'running') break
        const isClosing = () => this.isClosed
        const run = new ImportRun({ files, imports, outcomes, store, clock, isClosing }, state)
        const end = await run.run()
        if (end === 'stopped') return
        await imports.end(id, end)
        this.wake()
        break
      } catch (error) {
        if (error instanceof ImportMovedError) return
        log.failed(`the import ${id}`, error)
        if (!isAway(error)) {
          await imports.fail(id, findFault(error)).catch(() => undefined)
          return
        }
        await delay(RETRY_MS, undefined, { signal: this.settling.signal }).catch(() => undefined)
      }
    }
    if (!this.isClosed) await files.remove(id)
  }
}

function findFault(error: unknown): string {
  const reason = error instanceof AppError ? error.message : 'the log of the service says why'
  return `the service could not go on with the file, which it keeps for an operator: ${reason}`
}
