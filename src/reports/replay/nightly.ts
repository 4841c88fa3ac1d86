import type { Logger } from 'pino'
import { DamagedBlock } from '../../log/database.ts'
import { type BlockReader, cellColumnsOfBlock, SPAN_MS, spanStart } from '../../log/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { Periodic } from '../../platform/periodic.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { type ReplayTotals, replayColumns } from './replayed-columns.ts'
import type { ReplaySource } from './service.ts'
import type { ReplayStore } from './store.ts'

interface NightlyReplayOptions {
  readonly samples: Pick<ReplayStore, 'blocksSince'>
  readonly openSource: () => ReplaySource
  readonly blocks: Pick<BlockReader, 'tryOpen'>
  readonly clock: Clock
  readonly log: Logger
}

/** Blocks of a night, from the last two days: at most 160,000 applicants of single requests. */
const BLOCKS_MAX = 20
const SAMPLED_MS = 2 * SPAN_MS.day
/** Results of a block; a block of batches can have more. */
const ROWS_MAX = 10_000
const HOUR_OF_NIGHT = 2

/**
 * Replays a sample of the log of all teams, each night at 2 o'clock UTC. Every process takes a
 * sample of its own, so that more replicas see more.
 */
export class NightlyReplay {
  private readonly options: NightlyReplayOptions
  /** Its failures are the nights that could not read the log. */
  readonly periodic: Periodic
  /** Results of all nights since the start. */
  readonly counts = { identical: 0, different: 0 }
  /** When the last night ended, in seconds since 1970; 0 before the first. */
  lastEndSec = 0

  constructor(options: NightlyReplayOptions) {
    this.options = options
    this.periodic = new Periodic({
      round: () => this.replayNight().finally(() => this.periodic.wake(this.msToNight())),
      everyMs: 2 * SPAN_MS.day,
      onFailed: (error) => {
        const facts = { err: errorFacts(error) }
        options.log.error(facts, 'the nightly replay failed and will run again tomorrow')
      },
    })
  }

  start(): void {
    this.periodic.start(this.msToNight())
  }

  private msToNight(): number {
    return msToNight(this.options.clock.epochMs())
  }

  private async replayNight(): Promise<void> {
    const { clock, log } = this.options
    const { totals, damage } = await this.replaySample()
    const different = totals.n - totals.identical
    this.counts.identical += totals.identical
    this.counts.different += different
    const [first] = totals.different
    if (first !== undefined) {
      // What an applicant was given is not for a log.
      const { requestId, recordIndex, modelId, field } = first
      const facts = { requestId, recordIndex, modelId, field, count: different }
      log.error(facts, 'the replay of logged scores gave other results')
    }
    if (damage !== null) throw damage
    this.lastEndSec = Math.floor(clock.epochMs() / 1_000)
  }

  /** @returns also the error of a block of the sample that can't be read */
  private async replaySample(): Promise<{
    readonly totals: ReplayTotals
    readonly damage: DamagedBlock | null
  }> {
    const { samples, openSource, blocks, clock } = this.options
    let damage: DamagedBlock | null = null
    const { models, cells } = openSource()
    const totals: ReplayTotals = { n: 0, identical: 0, different: [] }
    const turns = new TurnTaker()
    for (const stored of await samples.blocksSince(clock.epochMs() - SAMPLED_MS, BLOCKS_MAX)) {
      this.periodic.signal.throwIfAborted()
      const block = blocks.tryOpen(stored)
      if (block instanceof DamagedBlock) {
        damage ??= block
        continue
      }
      const known = await models.get(block.modelIds)
      const compiled = await cells.compiled(block.modelIds)
      for (const columns of cellColumnsOfBlock(block, compiled, ({ rows }) =>
        Int32Array.from({ length: Math.min(rows, ROWS_MAX) }, (_, row) => row),
      )) {
        await replayColumns(columns, known, totals, turns)
      }
    }
    return { totals, damage }
  }
}

/** Time until the next 2 o'clock of UTC, above 0. */
export function msToNight(nowMs: number): number {
  const todayMs = spanStart('day', nowMs) + HOUR_OF_NIGHT * SPAN_MS.hour
  return todayMs > nowMs ? todayMs - nowMs : todayMs + SPAN_MS.day - nowMs
}
