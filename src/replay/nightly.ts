import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { SPAN_MS, spanStart } from '../rollups/spans.ts'
import { openBlock } from '../score-log/blocks/block-decoder.ts'
import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import { cellColumnsOfBlock } from '../score-log/reading/cell-columns.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import { type ReplayDifference, type ReplayTotals, replayColumns } from './replayed-columns.ts'
import type { ReplaySource } from './service.ts'

/** Gives blocks at random. */
export interface BlockSamples {
  blocksSince(fromMs: number, blocksMax: number): Promise<readonly StoredBlock[]>
}

interface NightlyReplayOptions {
  readonly samples: BlockSamples
  readonly openSource: () => ReplaySource
  readonly clock: Clock
  /** Receives the first difference of a night; what an applicant was given is not for a log. */
  readonly onDifferent: (
    difference: Omit<ReplayDifference, 'logged' | 'recomputed'>,
    count: number,
  ) => void
  readonly onFailed: (error: unknown) => void
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
  private readonly ending = new AbortController()
  private running: Promise<void> = Promise.resolve()
  /** Results of all nights since the start. */
  readonly counts = { identical: 0, different: 0, failedNights: 0 }
  /** When the last night ended, in seconds since 1970; 0 before the first. */
  lastEndSec = 0

  constructor(options: NightlyReplayOptions) {
    this.options = options
  }

  start(): void {
    this.running = this.runNights()
  }

  /** Waits for a running replay and starts no other. */
  async close(): Promise<void> {
    this.ending.abort()
    await this.running
  }

  /** One night; never rejects. */
  async runOnce(): Promise<void> {
    const { clock, onDifferent, onFailed } = this.options
    try {
      const totals = await this.replaySample()
      const different = totals.n - totals.identical
      this.counts.identical += totals.identical
      this.counts.different += different
      const [first] = totals.different
      if (first !== undefined) {
        const { requestId, recordIndex, modelId, field } = first
        onDifferent({ requestId, recordIndex, modelId, field }, different)
      }
      this.lastEndSec = Math.floor(clock.epochMs() / 1_000)
    } catch (error) {
      if (this.ending.signal.aborted) return
      this.counts.failedNights++
      onFailed(error)
    }
  }

  private async runNights(): Promise<void> {
    const { signal } = this.ending
    while (!signal.aborted) {
      const waitMs = msToNight(this.options.clock.epochMs())
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted) await this.runOnce()
    }
  }

  private async replaySample(): Promise<ReplayTotals> {
    const { samples, openSource, clock } = this.options
    const { models } = openSource()
    const totals: ReplayTotals = { n: 0, identical: 0, different: [] }
    const turns = new TurnTaker()
    for (const stored of await samples.blocksSince(clock.epochMs() - SAMPLED_MS, BLOCKS_MAX)) {
      this.ending.signal.throwIfAborted()
      const block = openBlock(stored)
      const known = await models.get(block.modelIds)
      const compiled = await models.compiled(block.modelIds)
      for (const columns of cellColumnsOfBlock(block, compiled, ({ rows }) =>
        Int32Array.from({ length: Math.min(rows, ROWS_MAX) }, (_, row) => row),
      )) {
        await replayColumns(columns, known, totals, turns)
      }
    }
    return totals
  }
}

/** Time until the next 2 o'clock of UTC, above 0. */
export function msToNight(nowMs: number): number {
  const todayMs = spanStart('day', nowMs) + HOUR_OF_NIGHT * SPAN_MS.hour
  return todayMs > nowMs ? todayMs - nowMs : todayMs + SPAN_MS.day - nowMs
}
