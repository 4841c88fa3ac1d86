import type { Logger } from 'pino'
import type { JobService } from '../jobs/service.ts'
import type { Clock } from '../platform/clock.ts'
import type { ScoreReadingService } from '../reading/service.ts'
import { type BlockSamples, NightlyReplay } from './nightly.ts'
import { ReplayService, type ReplaySource, type ScanSizes } from './service.ts'

interface ReplayOptions {
  readonly store: BlockSamples & ScanSizes
  /** Opens a reader with models of its own. */
  readonly openSource: () => ReplaySource
  readonly jobs: JobService
  readonly reading: ScoreReadingService
  readonly clock: Clock
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
}

/** Replays on demand and at night; the nights wait for `nightly.start`. */
export function openReplay(options: ReplayOptions): {
  readonly service: ReplayService
  readonly nightly: NightlyReplay
} {
  const { store, openSource, jobs, reading, clock, log, factsOf } = options
  return {
    service: new ReplayService({ jobs, reading, openSource, sizes: store }),
    nightly: new NightlyReplay({
      samples: store,
      openSource,
      clock,
      onDifferent: (first, count) =>
        log.error({ ...first, count }, 'the replay of logged scores gave other results'),
      onFailed: (error) =>
        log.error({ err: factsOf(error) }, 'the nightly replay failed and will run again tomorrow'),
    }),
  }
}
