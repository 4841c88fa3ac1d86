import { join } from 'node:path'
import { DiskRoom, localDisk } from '../jobs/batches/disk-room.ts'
import type { BatchConfig } from '../jobs/batches/settings.ts'
import { Uploads } from '../jobs/batches/uploads.ts'
import type { OpenJobs } from '../jobs/open.ts'
import type { DataDir } from '../platform/data-dir/data-dir.ts'
import type { Deps } from '../platform/deps.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { Periodic } from '../platform/periodic.ts'
import type { ModelService } from '../registry/models/service.ts'
import { ExportService, type ModelBaselines } from './export/service.ts'
import { ExportThread } from './export/thread.ts'
import { CHECK_JOB, CheckService } from './import/checks.ts'
import { ImportService } from './import/service.ts'
import type { ImportThread } from './import/thread.ts'

interface CardsOptions {
  readonly models: ModelService
  readonly baselines: ModelBaselines
  /** Reads cards of other tools. */
  readonly runner: ImportThread
  readonly jobs: OpenJobs
  readonly dataDir: DataDir
  readonly config: BatchConfig
}

const PLACE_BYTES = 16
const TIDY_EVERY_MS = 3_600_000

/** Wires cards of other tools, cards as files, and checks of files, whose jobs begin to run. */
export function openCards({ clock, log }: Deps, options: CardsOptions) {
  const { models, baselines, runner, jobs, dataDir, config } = options
  const directory = join(dataDir.path, 'checks')
  const room = new DiskRoom([localDisk(dataDir.path)], config.batchFreeBytesMin)
  const uploads = new Uploads(directory, async () => room)
  const place = dataDir.secret('place', PLACE_BYTES).toString('base64url')
  const checks = new CheckService({
    jobs: jobs.service,
    uploads,
    directory,
    place,
    clock,
    bytesMax: config.batchBytesMax,
  })
  jobs.start({ [CHECK_JOB]: checks.run }, place)
  // The files of jobs that were cancelled, or whose process died.
  const tidying = new Periodic({
    round: () => uploads.tidy(),
    everyMs: TIDY_EVERY_MS,
    onFailed: (error) =>
      log.warn({ err: errorFacts(error) }, 'files of ended checks could not be removed'),
  }).start()
  const services = {
    imports: new ImportService({ models, runner }),
    exports: new ExportService({ models, baselines, runner: new ExportThread() }),
    checks,
  }
  return { services, close: () => tidying.close() }
}
