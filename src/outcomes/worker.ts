import pLimit from 'p-limit'
import { AppError } from '../errors.ts'
import type { ImportDirectory } from './import-files.ts'
import { ImportRun } from './import-run.ts'
import { ImportMovedError, type ImportStore, TEAM_IMPORTS_MAX, teamIsFull } from './imports.ts'
import type { OutcomeService, OutcomeStore } from './service.ts'

/** Receives what an operator should see. */
export interface OutcomeWorkLog {
  failed(what: string, error: unknown): void
}

interface OutcomeWorkerOptions {
  readonly outcomes: OutcomeService
  readonly store: OutcomeStore
  readonly imports: ImportStore
  readonly files: ImportDirectory
  readonly log: OutcomeWorkLog
}

const SOON_MS = 500
const IDLE_MS = 60_000
const PURGE_MS = 3_600_000
/** Parts of what is to be removed in one round; the next round goes on. */
const PURGE_PARTS = 20
/** After the database was away. */
const RETRY_MS = 5_000
/** How often a process says which imports it has. */
const SEEN_MS = 60_000
/** An unfinished file of a process that died; a file takes a minute at most. */
const LEFT_OVER_MS = 600_000
/** Files that a process receives or works off. */
const IMPORTS_MAX = 20

/**
 * The work behind outcomes: imports, one after the other; held outcomes, tried again; and once an
 * hour the removal of what is no longer needed. `close` waits for the running step.
 */
export class OutcomeWorker {
  private readonly options: OutcomeWorkerOptions
  private readonly turn = pLimit(1)
  /** The teams of imports under way by id, and those of uploads. */
  private readonly running = new Map<string, string>()
  private readonly uploads = new Map<symbol, string>()
  private timer: NodeJS.Timeout | undefined
  private seeing: NodeJS.Timeout | undefined
  private round: Promise<void> = Promise.resolve()
  private purgedAtMs = 0
  private isClosed = false
  private readonly ending = new AbortController()

  constructor(options: OutcomeWorkerOptions) {
    this.options = options
  }

  /** Goes on with the imports of earlier processes. */
  async start(): Promise<void> {
    try {
      const { files, imports } = this.options
      for (const { id, isWhole, changedAtMs } of await files.list()) {
        const found = isWhole ? await imports.find(id) : null
        if (found?.status === 'running') this.run(id, found.sender.teamId)
        else if (Date.now() - changedAtMs > LEFT_OVER_MS || found !== null) await files.remove(id)
      }
      await this.see()
    } catch (error) {
      this.options.log.failed('the start of the imports of outcomes', error)
      if (!this.isClosed) setTimeout(() => void this.start(), RETRY_MS).unref()
      return
    }
    this.wake()
  }

  /**
   * Keeps a place for an upload, which counts as an import under way.
   *
   * @returns gives the place back
   * @throws AppError `unavailable` while too many imports are under way
   */
  reserve(teamId: string): () => void {
    const teams = [...this.running.values(), ...this.uploads.values()]
    if (teams.filter((one) => one === teamId).length >= TEAM_IMPORTS_MAX) {
      throw teamIsFull()
    }
    if (teams.length >= IMPORTS_MAX) {
      throw new AppError('unavailable', 'too many imports are under way: try again in a minute')
    }
    const upload = Symbol(teamId)
    this.uploads.set(upload, teamId)
    return () => void this.uploads.delete(upload)
  }

  /** Works off an import. */
  run(id: string, teamId: string): void {
    if (this.running.has(id) || this.isClosed) return
    this.running.set(id, teamId)
    this.seeing ??= setInterval(() => void this.see(), SEEN_MS).unref()
    void this.turn(() => this.runToEnd(id)).finally(() => this.running.delete(id))
  }

  /** Tries held outcomes soon: some were added. */
  wake(delayMs = SOON_MS): void {
    if (this.isClosed) return
    clearTimeout(this.timer)
    const next = () => {
      this.round = this.settle()
    }
    this.timer = setTimeout(next, delayMs).unref()
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.ending.abort()
    clearInterval(this.seeing)
    clearTimeout(this.timer)
    this.turn.clearQueue()
    await this.round
    await this.turn(async () => undefined)
  }

  private async settle(): Promise<void> {
    const { outcomes, log } = this.options
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

  /** Says which imports this process has, queued ones included. */
  private async see(): Promise<void> {
    if (this.running.size === 0) return
    await this.options.imports
      .see([...this.running.keys()])
      .catch((error) => this.options.log.failed('the sign of life of imports of outcomes', error))
  }

  /** @returns false if it has to go on soon */
  private async purge(): Promise<boolean> {
    if (Date.now() - this.purgedAtMs <= PURGE_MS) return true
    const { outcomes, imports, log } = this.options
    try {
      await imports.failUnseen()
      for (let part = 0; part < PURGE_PARTS && !this.isClosed; part++) {
        if (await outcomes.purge()) continue
        this.purgedAtMs = Date.now()
        return true
      }
      return false
    } catch (error) {
      log.failed('the removal of outcomes that are no longer needed', error)
      return true
    }
  }

  /** Whether a held outcome has its next turn within seconds. */
  private isWaiting(): Promise<boolean> {
    return this.options.store.hasDue(Date.now() + 10 * SOON_MS)
  }

  private async runToEnd(id: string): Promise<void> {
    const { imports, files, outcomes, store, log } = this.options
    while (!this.isClosed) {
      try {
        const state = await imports.find(id)
        if (state?.status !== 'running') break
        const isClosing = () => this.isClosed
        const run = new ImportRun({ files, imports, outcomes, store, isClosing }, state)
        const end = await run.run()
        if (end === 'stopped') return
        await imports.end(id, end)
        this.wake()
        break
      } catch (error) {
        if (error instanceof ImportMovedError) return
        log.failed(`the import ${id}`, error)
        const isAway = error instanceof AppError && error.code === 'unavailable'
        if (!isAway) {
          await imports.end(id, 'failed').catch(() => undefined)
          break
        }
        await pause(RETRY_MS, this.ending.signal)
      }
    }
    if (!this.isClosed) await files.remove(id)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
